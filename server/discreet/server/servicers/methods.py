"""Every method of every service with what answers it: the one place where services are put together."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from discreet.server.calls import StreamMethod, UnaryMethod
from discreet.server.config import ServerConfig
from discreet.server.fleet.fleet import Fleet
from discreet.server.logs import Log
from discreet.server.metrics.counts import CallCounts
from discreet.server.policies.follower import Policies
from discreet.server.ports import Clock, Store
from discreet.server.ports_cache import BundleCache
from discreet.server.ports_spool import Spooling
from discreet.server.reading.reader import FactReader
from discreet.server.servicers.asking import Asking
from discreet.server.servicers.audit import Auditing
from discreet.server.servicers.audit_reads import Reads
from discreet.server.servicers.authority.wiring import authority_methods
from discreet.server.servicers.check import Checking
from discreet.server.servicers.commit import Committing
from discreet.server.servicers.index.grants import Grants
from discreet.server.servicers.index.records import Records
from discreet.server.servicers.index.transacting import Transacting
from discreet.server.servicers.policies.wiring import policy_methods
from discreet.server.servicers.purge.service import Purging
from discreet.server.servicers.server_info import ServerInfo
from discreet.server.servicers.servers import Servers
from discreet.server.servicers.shown import Reporting
from discreet.server.servicers.stream import Refusal, Streaming
from discreet.server.servicers.typed import on_bytes
from discreet.v1 import audit_pb2, index_pb2, server_pb2


class Methods:
    """The services of one server, by full method name."""

    def __init__(
        self,
        config: ServerConfig,
        instance: str,
        store: Store,
        reader: FactReader,
        policies: Policies,
        clock: Clock,
        log: Log,
        refusal: Refusal,
        problems: Callable[[], list[str]],
        counts: CallCounts,
        ring: Callable[[], None],
        fleet: Fleet,
        cache: BundleCache,
        spool: Spooling,
    ) -> None:
        timeout_s = config.store_timeout_s
        self.asking = Asking(config, instance, store, reader, policies, clock, log, fleet.presence, spool)
        checking = Checking(self.asking)
        self.streaming = Streaming(checking, refusal, counts, fleet.lease)
        transacting = Transacting(store, policies, instance, timeout_s, ring)
        self.purging = Purging(config, instance, store, reader.heads, transacting, log)
        info = ServerInfo(instance, store, reader.heads, policies, problems, clock.wall(), timeout_s, cache, spool)
        self.unary: Mapping[str, UnaryMethod] = {
            "/discreet.v1.DisclosureService/Check": checking.check,
            "/discreet.v1.DisclosureService/Commit": Committing(self.asking).commit,
            "/discreet.v1.DisclosureService/ReportShown": Reporting(self.asking).report_shown,
            **_index(Records(transacting), Grants(transacting)),
            **authority_methods(transacting, policies, config.approve_by_two),
            **self.purging.unary,
            **policy_methods(transacting, policies, instance),
            **_audit(Auditing(store, policies, Reads(instance, clock.wall, self.asking.record), timeout_s)),
            **_server(info, Servers(fleet.waiting, reader.heads, timeout_s)),
        }
        self.streams: Mapping[str, StreamMethod] = {
            "/discreet.v1.DisclosureService/CheckStream": self.streaming.check_stream,
            **self.purging.streams,
        }


def _index(records: Records, grants: Grants) -> dict[str, UnaryMethod]:
    methods = {
        "PutDocuments": on_bytes(index_pb2.PutDocumentsRequest, records.put_documents),
        "RegisterEvidence": on_bytes(index_pb2.RegisterEvidenceRequest, records.register_evidence),
        "GetRecord": on_bytes(index_pb2.GetRecordRequest, records.get_record),
        "ListRecords": on_bytes(index_pb2.ListRecordsRequest, records.list_records),
        "Supersede": on_bytes(index_pb2.SupersedeRequest, records.supersede),
        "Suspend": on_bytes(index_pb2.SuspendRequest, records.suspend),
        "Resume": on_bytes(index_pb2.ResumeRequest, records.resume),
        "SetScopes": on_bytes(index_pb2.SetScopesRequest, records.set_scopes),
        "RecordAssessment": on_bytes(index_pb2.RecordAssessmentRequest, records.record_assessment),
        "MarkUnreachable": on_bytes(index_pb2.MarkUnreachableRequest, records.mark_unreachable),
        "GrantScope": on_bytes(index_pb2.GrantScopeRequest, grants.grant_scope),
        "WithdrawScope": on_bytes(index_pb2.WithdrawScopeRequest, grants.withdraw_scope),
        "ListGrants": on_bytes(index_pb2.ListGrantsRequest, grants.list_grants),
    }
    return {f"/discreet.v1.IndexService/{name}": method for name, method in methods.items()}


def _audit(auditing: Auditing) -> dict[str, UnaryMethod]:
    return {
        "/discreet.v1.AuditService/QueryDecisions": on_bytes(audit_pb2.QueryDecisionsRequest, auditing.query_decisions),
        "/discreet.v1.AuditService/Explain": on_bytes(audit_pb2.ExplainRequest, auditing.explain),
        "/discreet.v1.AuditService/QueryActs": on_bytes(audit_pb2.QueryActsRequest, auditing.query_acts),
        "/discreet.v1.AuditService/ListChainHeads": on_bytes(
            audit_pb2.ListChainHeadsRequest, auditing.list_chain_heads
        ),
    }


def _server(info: ServerInfo, servers: Servers) -> dict[str, UnaryMethod]:
    return {
        "/discreet.v1.ServerService/WaitForServers": on_bytes(
            server_pb2.WaitForServersRequest, servers.wait_for_servers
        ),
        "/discreet.v1.ServerService/GetServerInfo": on_bytes(server_pb2.GetServerInfoRequest, info.get_server_info),
        "/discreet.v1.ServerService/GetStatus": on_bytes(server_pb2.GetStatusRequest, info.get_status),
    }
