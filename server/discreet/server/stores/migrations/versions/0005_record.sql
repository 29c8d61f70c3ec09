-- The link of 0004, which now also writes the columns by which a change, a refusal or a report is found. Jobs have one more
-- member: found_by [method, actor, record id, version, ticket, subject id], or null where the row holds decisions.

CREATE OR REPLACE FUNCTION discreet_link(
    p_writer bigint, p_name text, p_n bigint, p_prev bytea, p_heads text, p_jobs jsonb, p_bodies bytea[],
    p_held integer[], p_now bigint, p_seq bigint
) RETURNS bytea LANGUAGE plpgsql AS $$
DECLARE
    v_digests bytea;
    v_hash bytea;
BEGIN
    SELECT string_agg(sha256(p_bodies[h.job]), ''::bytea ORDER BY h.ordinal)
    INTO v_digests FROM unnest(p_held) WITH ORDINALITY AS h(job, ordinal);
    v_hash := sha256(
        convert_to('discreet.audit.link.v1', 'UTF8') || '\x00'::bytea || sha256(convert_to(p_name, 'UTF8'))
        || int8send(p_n) || p_prev || sha256(convert_to(p_heads, 'UTF8')) || int4send(cardinality(p_held))
        || v_digests);
    INSERT INTO audit_link (writer, n, prev, hash, size, heads, at, seq, digests)
    VALUES (p_writer, p_n, p_prev, v_hash, cardinality(p_held), p_heads, p_now, p_seq, v_digests);
    INSERT INTO audit_row (writer, n, ordinal, tenant, request_id, act, at, principal_id, session_id, body)
    SELECT p_writer, p_n, h.ordinal - 1, a.tenant, a.request_id, a.act, a.at, a.principal_id, a.session_id, p_bodies[h.job]
    FROM unnest(p_held) WITH ORDINALITY AS h(job, ordinal)
    CROSS JOIN LATERAL jsonb_to_record(p_jobs -> (h.job - 1) -> 'audit')
        AS a(tenant text, request_id text, act smallint, at bigint, principal_id text, session_id text);
    INSERT INTO audit_act (at, writer, place, tenant, n, ordinal, act, method, actor, principal_id, record_id, version,
        ticket, subject_id)
    SELECT a.at, p_writer, (p_n << 24) + h.ordinal - 1, a.tenant, p_n, h.ordinal - 1, a.act, k.key ->> 0, k.key ->> 1,
        a.principal_id, k.key ->> 2, k.key ->> 3, k.key ->> 4, k.key ->> 5
    FROM unnest(p_held) WITH ORDINALITY AS h(job, ordinal)
    CROSS JOIN LATERAL jsonb_to_record(p_jobs -> (h.job - 1) -> 'audit')
        AS a(tenant text, act smallint, at bigint, principal_id text)
    CROSS JOIN LATERAL (SELECT p_jobs -> (h.job - 1) -> 'found_by' AS key) AS k
    WHERE jsonb_typeof(k.key) = 'array';
    WITH d AS MATERIALIZED (
        SELECT a.at, (p_n << 24) + row_number() OVER (ORDER BY h.ordinal, k.ordinality) - 1 AS place, a.tenant,
            h.ordinal - 1 AS ordinal, a.principal_id, a.session_id, k.value AS key
        FROM unnest(p_held) WITH ORDINALITY AS h(job, ordinal)
        CROSS JOIN LATERAL jsonb_to_record(p_jobs -> (h.job - 1) -> 'audit')
            AS a(tenant text, at bigint, principal_id text, session_id text)
        CROSS JOIN LATERAL jsonb_array_elements(p_jobs -> (h.job - 1) -> 'decisions') WITH ORDINALITY AS k
    ), r AS (
        INSERT INTO audit_decision_record (tenant, record_id, at, writer, place)
        SELECT d.tenant, e.value, d.at, p_writer, d.place
        FROM d CROSS JOIN LATERAL jsonb_array_elements_text(d.key -> 6) AS e
    ), l AS (
        INSERT INTO audit_decision_label (tenant, label, at, writer, place)
        SELECT d.tenant, e.value, d.at, p_writer, d.place
        FROM d CROSS JOIN LATERAL jsonb_array_elements_text(d.key -> 7) AS e
    )
    INSERT INTO audit_decision (at, writer, place, tenant, n, ordinal, decision_id, principal_id, session_id,
        verdict, reason, rule, moment, policy_revision)
    SELECT d.at, p_writer, d.place, d.tenant, p_n, d.ordinal, d.key ->> 0, d.principal_id, d.session_id,
        (d.key ->> 1)::smallint, (d.key ->> 2)::smallint, d.key ->> 3, (d.key ->> 4)::smallint, (d.key ->> 5)::bigint
    FROM d;
    RETURN v_hash;
END
$$;
