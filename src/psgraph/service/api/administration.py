"""Tokens and planning."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path

from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.publication.planning import plan
from psgraph.service.api.access import ActionRoute, Caller, TheService, allowed
from psgraph.service.methods import build_method
from psgraph.service.schemas import NewToken, PlanRequest, TokenCreated, TokenView

__all__ = ["router"]

router = APIRouter(route_class=ActionRoute, tags=["administration"])


@router.get("/tokens", **allowed("tokens"))
def list_tokens(service: TheService) -> list[TokenView]:
    """List all tokens, without their secrets."""
    return service.tokens.views()


@router.post("/tokens", status_code=201, **allowed("tokens"))
def create_token(new: NewToken, service: TheService, caller: Caller) -> TokenCreated:
    """Create a token. It is shown once; only its hash is stored."""
    return service.tokens.create(new, caller)


@router.delete("/tokens/{token}", **allowed("tokens"))
def revoke_token(
    token: Annotated[str, Path(pattern="^[a-z0-9]{12}$")], service: TheService, caller: Caller
) -> TokenView:
    """Revoke a token by its id. It stops working at once."""
    return service.tokens.revoke(token, caller)


@router.post("/plan", **allowed("plan"))
def post_plan(request: PlanRequest) -> dict[str, Any]:
    """Return how noisy a publication would be. Needs no data and spends nothing."""
    guarantee = WEventPrivacy(request.epsilon, request.window)
    method = build_method(request.method, {}, guarantee)
    return plan(guarantee, nodes=request.nodes, edges=request.edges, method=method).to_dict()
