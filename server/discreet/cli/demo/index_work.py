"""What collectors and operators do to the index in the demo: each is one call on their own socket."""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

from discreet.cli.connection import connect
from discreet.cli.importing import batches, send
from discreet.cli.lines import Good, to_input
from discreet.cli.peps import Pep, to_line
from discreet.cli.reading import Tree
from discreet.cli.settings import Settings
from discreet.client import Binding
from discreet.v1 import index_pb2 as pb
from discreet.v1.audit_pb2 import ExplainRequest, ExplainResponse, QueryDecisionsRequest, QueryDecisionsResponse
from discreet.v1.audit_pb2_grpc import AuditServiceStub
from discreet.v1.authority_pb2 import FreezeRequest, UnfreezeRequest
from discreet.v1.authority_pb2_grpc import AuthorityServiceStub
from discreet.v1.common_pb2 import RecordRef
from discreet.v1.index_pb2_grpc import IndexServiceStub
from discreet.v1.purge_pb2 import ListPurgeOrdersRequest, PurgeOrder
from discreet.v1.purge_pb2_grpc import PurgeServiceStub


class Office:
    """The people behind the index, each on a line of their own: collector, operator, auditor."""

    def __init__(self, settings: Settings, tenant: str) -> None:
        self._tenant = tenant
        self._lines = ExitStack()
        self._collector = self._lines.enter_context(connect(settings, "collector"))
        self._operator = self._lines.enter_context(connect(settings, "operator"))
        self._auditor = self._lines.enter_context(connect(settings, "auditor"))
        self._index = IndexServiceStub(self._operator.channel)

    def close(self) -> None:
        """Hangs up."""
        self._lines.close()

    def register(self, peps: list[Pep]) -> int:
        """Registers versions in batches; returns how many are new."""
        return self._register([to_line(pep) for pep in peps])

    def register_line(self, line: dict[str, Tree]) -> int:
        """Registers one record; returns 1 where it is new."""
        return self._register([line])

    def _register(self, lines: list[dict[str, Tree]]) -> int:
        found: Iterator[Good] = (Good(n, to_input(line), 0, 0) for n, line in enumerate(lines, 1))
        return sum(done.kinds["CREATED"] for done in send(self._collector, self._tenant, batches(found, 500)))

    def grant(self, principal: str, scope: str) -> None:
        """Gives a scope."""
        request = pb.GrantScopeRequest(tenant=self._tenant, principal_id=principal, scope=scope, reason="demo")
        self._operator.call(self._index.GrantScope, request)

    def withdraw(self, principal: str, scope: str) -> None:
        """Takes a scope back."""
        request = pb.WithdrawScopeRequest(tenant=self._tenant, principal_id=principal, scope=scope, reason="demo")
        self._operator.call(self._index.WithdrawScope, request)

    def assess(self, binding: Binding, days: int) -> None:
        """Says that a version is eligible for so many days from now."""
        request = pb.RecordAssessmentRequest(tenant=self._tenant, record=ref(binding), reason="reviewed")
        request.expires_at.FromSeconds(int(time.time()) + days * 86_400)
        self._operator.call(self._index.RecordAssessment, request)

    def supersede(self, binding: Binding, by: Binding) -> None:
        """Names a successor."""
        request = pb.SupersedeRequest(
            tenant=self._tenant, record=ref(binding), successor=ref(by), reason="replaced by another proposal"
        )
        self._operator.call(self._index.Supersede, request)

    def suspend(self, binding: Binding) -> None:
        """Hides at once."""
        request = pb.SuspendRequest(tenant=self._tenant, record=ref(binding), reason="under review")
        self._operator.call(self._index.Suspend, request)

    def resume(self, binding: Binding) -> None:
        """Ends a suspension."""
        request = pb.ResumeRequest(tenant=self._tenant, record=ref(binding), reason="review done")
        self._operator.call(self._index.Resume, request)

    def set_scopes(self, binding: Binding, *scopes: str) -> None:
        """Says who may read a version."""
        request = pb.SetScopesRequest(tenant=self._tenant, record=ref(binding), scopes=scopes, reason="reclassified")
        self._operator.call(self._index.SetScopes, request)

    def revoke(self, binding: Binding, ticket: str) -> int:
        """Revokes retention for good; returns how many committed segments rest on the version."""
        request = pb.RevokeRetentionRequest(
            tenant=self._tenant, record=ref(binding), reason="its authors withdrew it", ticket=ticket
        )
        return self._operator.call(self._index.RevokeRetention, request).affected_segments

    def orders(self) -> Sequence[PurgeOrder]:
        """The purge orders, newest first."""
        request = ListPurgeOrdersRequest(tenant=self._tenant)
        return self._operator.call(PurgeServiceStub(self._operator.channel).ListPurgeOrders, request).orders

    def freeze(self, label: str) -> str:
        """Withholds a source for an hour; returns the freeze's id."""
        request = FreezeRequest(tenant=self._tenant, source_label=label, reason="under suspicion")
        request.until.FromSeconds(int(time.time()) + 3_600)
        return self._operator.call(AuthorityServiceStub(self._operator.channel).Freeze, request).freeze_id

    def unfreeze(self, freeze_id: str) -> None:
        """Ends a freeze."""
        request = UnfreezeRequest(tenant=self._tenant, freeze_id=freeze_id, reason="nothing was wrong")
        self._operator.call(AuthorityServiceStub(self._operator.channel).Unfreeze, request)

    def decisions(self, session_id: str) -> QueryDecisionsResponse:
        """What the audit holds of a session."""
        request = QueryDecisionsRequest(tenant=self._tenant, session_id=session_id, page_size=1_000)
        return self._auditor.call(AuditServiceStub(self._auditor.channel).QueryDecisions, request)

    def explain(self, decision_id: str) -> ExplainResponse:
        """One decision whole."""
        request = ExplainRequest(tenant=self._tenant, decision_id=decision_id)
        return self._auditor.call(AuditServiceStub(self._auditor.channel).Explain, request)


def ref(binding: Binding) -> RecordRef:
    """The record version that a binding names."""
    return RecordRef(record_id=binding.record_id, version=binding.version)
