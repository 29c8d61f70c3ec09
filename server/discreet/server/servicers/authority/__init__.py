"""What operators do that stands above single records: revokes, holds, freezes, tombstones, approvals."""
