-- The commit, in one statement: the row is taken, everything is compared, what holds is written. No round trip while the
-- row is held. Every statement after the first sees what was committed before the row was taken (READ COMMITTED).
--
-- p_jobs: one object a job: audit (the columns of its row), decisions, policy_revision, grants [tenant, principal, revision]
-- or null, valid_until (the earliest of its entries), store_within, entries, bases. p_bodies: the audit rows' bytes by job;
-- p_segments: the segments' bytes by the entries' number. p_ordered: some job has entries, so the row is taken.
-- Returns null where this link is written already: an earlier attempt whose answer was lost.

CREATE FUNCTION discreet_link(
    p_writer bigint, p_name text, p_n bigint, p_prev bytea, p_heads text, p_jobs jsonb, p_bodies bytea[],
    p_held integer[], p_now bigint, p_seq bigint
) RETURNS bytea LANGUAGE plpgsql AS $$
DECLARE
    v_hash bytea;
BEGIN
    SELECT sha256(
        convert_to('discreet.audit.link.v1', 'UTF8') || '\x00'::bytea || sha256(convert_to(p_name, 'UTF8'))
        || int8send(p_n) || p_prev || sha256(convert_to(p_heads, 'UTF8')) || int4send(count(*)::integer)
        || string_agg(sha256(p_bodies[h.job]), ''::bytea ORDER BY h.ordinal))
    INTO v_hash FROM unnest(p_held) WITH ORDINALITY AS h(job, ordinal);
    INSERT INTO audit_link (writer, n, prev, hash, size, heads, at, seq)
    VALUES (p_writer, p_n, p_prev, v_hash, cardinality(p_held), p_heads, p_now, p_seq);
    INSERT INTO audit_row (writer, n, ordinal, tenant, request_id, act, at, principal_id, session_id, body)
    SELECT p_writer, p_n, h.ordinal - 1, a.tenant, a.request_id, a.act, a.at, a.principal_id, a.session_id, p_bodies[h.job]
    FROM unnest(p_held) WITH ORDINALITY AS h(job, ordinal)
    CROSS JOIN LATERAL jsonb_to_record(p_jobs -> (h.job - 1) -> 'audit')
        AS a(tenant text, request_id text, act smallint, at bigint, principal_id text, session_id text);
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

CREATE FUNCTION discreet_overtaken(p_job jsonb, p_policy bigint, p_now bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    v_records jsonb;
    v_policy boolean := (p_job ->> 'policy_revision')::bigint <> p_policy;
    v_grants boolean := false;
    v_expired boolean := coalesce((p_job ->> 'valid_until')::bigint <= p_now, false);
BEGIN
    SELECT jsonb_agg(DISTINCT jsonb_build_array(b.record_id, b.version)) INTO v_records
    FROM jsonb_to_recordset(p_job -> 'bases') AS b(tenant text, record_id text, version text, revision bigint)
    LEFT JOIN record_latest l ON l.tenant = b.tenant AND l.record_id = b.record_id AND l.version = b.version
    WHERE l.revision IS DISTINCT FROM b.revision;
    IF jsonb_typeof(p_job -> 'grants') = 'array' THEN
        SELECT coalesce(max(g.seq), 0) <> (p_job #>> '{grants,2}')::bigint INTO v_grants FROM grant_event g
        WHERE g.tenant = p_job #>> '{grants,0}' AND g.principal_id = p_job #>> '{grants,1}';
    END IF;
    IF v_policy OR v_grants OR v_expired OR v_records IS NOT NULL THEN
        RETURN jsonb_build_object('policy', v_policy, 'grants', v_grants, 'expired', v_expired,
            'records', coalesce(v_records, '[]'::jsonb));
    END IF;
    RETURN NULL;
END
$$;

CREATE FUNCTION discreet_record(
    p_writer bigint, p_name text, p_n bigint, p_prev bytea, p_heads text, p_ordered boolean,
    p_jobs jsonb, p_bodies bytea[], p_segments bytea[]
) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    v_row authority;
    v_began bigint;
    v_now bigint;
    v_job jsonb;
    v_number integer;
    v_answer jsonb;
    v_answers jsonb[] := '{}';
    v_held integer[] := '{}';
    v_hash bytea;
BEGIN
    PERFORM set_config('synchronous_commit', 'on', true);
    IF p_ordered THEN
        SELECT * INTO STRICT v_row FROM authority WHERE one = 1 FOR UPDATE;
        IF EXISTS (SELECT FROM audit_link WHERE writer = p_writer AND n = p_n) THEN
            RETURN NULL;
        END IF;
    ELSE
        SELECT * INTO STRICT v_row FROM authority WHERE one = 1;
    END IF;
    v_began := v_row.seq;
    v_now := (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
    FOR v_job, v_number IN SELECT value, ordinality FROM jsonb_array_elements(p_jobs) WITH ORDINALITY LOOP
        v_answer := '{"seq": 0}';
        IF jsonb_array_length(v_job -> 'entries') > 0 THEN
            SELECT jsonb_build_object('taken', jsonb_agg(jsonb_build_array(
                l.tenant, l.session_id, l.answer_id, l.segment_id, l.ledger_id, l.fingerprint = decode(e.fingerprint, 'hex'))))
            INTO v_answer
            FROM jsonb_to_recordset(v_job -> 'entries')
                AS e(tenant text, session_id text, answer_id text, segment_id text, fingerprint text)
            JOIN ledger l ON l.tenant = e.tenant AND l.session_id = e.session_id AND l.answer_id = e.answer_id
                AND l.segment_id = e.segment_id
            HAVING count(*) > 0;
            v_answer := coalesce(v_answer, discreet_overtaken(v_job, v_row.policy_revision, v_now));
            IF v_answer IS NOT NULL THEN
                v_answers := array_append(v_answers, v_answer || jsonb_build_object('at', v_row.seq));
                CONTINUE;
            END IF;
            v_row.seq := v_row.seq + 1;
            v_answer := jsonb_build_object('seq', v_row.seq);
            INSERT INTO ledger (tenant, ledger_id, session_id, answer_id, segment_id, fingerprint, principal_id,
                segment_digest, grounding, segment, need_numbers, need_advice, valid_until, policy_revision,
                grants_revision, seq, committed_at, store_by, writer, n)
            SELECT e.tenant, e.ledger_id, e.session_id, e.answer_id, e.segment_id, decode(e.fingerprint, 'hex'),
                e.principal_id, e.segment_digest, e.grounding, p_segments[e.number], e.need_numbers, e.need_advice,
                e.valid_until, v_row.policy_revision, (v_job #>> '{grants,2}')::bigint, v_row.seq, v_now,
                v_now + (v_job ->> 'store_within')::bigint, p_writer, p_n
            FROM jsonb_to_recordset(v_job -> 'entries') AS e(tenant text, ledger_id text, session_id text,
                answer_id text, segment_id text, fingerprint text, principal_id text, segment_digest text,
                grounding smallint, number integer, need_numbers boolean, need_advice boolean, valid_until bigint);
            INSERT INTO ledger_root (tenant, ledger_id, record_id, version, revision)
            SELECT b.tenant, b.ledger_id, b.record_id, b.version, b.revision FROM jsonb_to_recordset(v_job -> 'bases')
                AS b(tenant text, ledger_id text, record_id text, version text, revision bigint);
        END IF;
        v_answers := array_append(v_answers, v_answer);
        v_held := array_append(v_held, v_number);
    END LOOP;
    IF v_row.seq <> v_began THEN
        UPDATE authority SET seq = v_row.seq WHERE one = 1;
    END IF;
    IF cardinality(v_held) > 0 THEN
        v_hash := discreet_link(p_writer, p_name, p_n, p_prev, p_heads, p_jobs, p_bodies, v_held, v_now,
            CASE WHEN v_row.seq <> v_began THEN v_row.seq ELSE 0 END);
    END IF;
    RETURN jsonb_build_object('now', v_now, 'hash', encode(v_hash, 'hex'), 'epoch', v_row.epoch,
        'changed_seq', v_row.changed_seq, 'policy_revision', v_row.policy_revision, 'jobs', to_jsonb(v_answers));
END
$$;
