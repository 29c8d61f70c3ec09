-- The commit of 0001, which now also compares what stands for the tenant (source revokes, freezes, holds), and confirms what
-- was reported as shown. Jobs have two more members: standing [tenant, revision] or null, shown [[tenant, ledger id], ...].

CREATE OR REPLACE FUNCTION discreet_overtaken(p_job jsonb, p_policy bigint, p_now bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    v_records jsonb;
    v_policy boolean := (p_job ->> 'policy_revision')::bigint <> p_policy;
    v_grants boolean := false;
    v_standing boolean := false;
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
    IF jsonb_typeof(p_job -> 'standing') = 'array' THEN
        SELECT coalesce(max(s.seq), 0) <> (p_job #>> '{standing,1}')::bigint INTO v_standing FROM standing_event s
        WHERE s.tenant IN (p_job #>> '{standing,0}', '');
    END IF;
    IF v_policy OR v_grants OR v_standing OR v_expired OR v_records IS NOT NULL THEN
        RETURN jsonb_build_object('policy', v_policy, 'grants', v_grants, 'standing', v_standing, 'expired', v_expired,
            'records', coalesce(v_records, '[]'::jsonb));
    END IF;
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION discreet_record(
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
        INSERT INTO ledger_shown (ledger_id, tenant, at, request_id)
        SELECT e.value ->> 1, e.value ->> 0, v_now, v_job #>> '{audit,request_id}'
        FROM jsonb_array_elements(v_job -> 'shown') AS e ON CONFLICT DO NOTHING;
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
