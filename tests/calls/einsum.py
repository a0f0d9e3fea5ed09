"""Random calls of einsum."""

from hypothesis import strategies as st

from tests.calls import Call, Draw

_EQUATIONS = (
    *("ij,jk->ik", "ij,kj->ik", "ji,jk->ki", "bij,bjk->bik", "bhid,bhjd->bhij", "bhij,bhjd->bihd", "abc,cd->abd"),
    *("i,j->ij", "ij,ij->", "ij,ij->i", "ij,ij->ij", "ijk,ik->j", "bij,jk", "ba,ca", "abcd,cdef->abef", "ij,jk,kl->il"),
    *("i,ij,j->", "...ij,...jk->...ik", "...i,ij->...j", "b...,b->b...", "bn,anm,bm->ba", "ik,jk,ik->ijk", "ijk,l->il"),
)
_OF_ONE = ("ij->ji", "ii->i", "ii", "iji->j", "ijk->k", "ijk->", "...ij->...ji", "ijk->ijk", "iiji->ij")


def _sized(data: st.DataObject, equation: str) -> list[tuple[int, ...]]:
    """Shapes for the operands; an ellipsis stands for up to two axes."""
    known: dict[str, int] = {}
    shapes: list[tuple[int, ...]] = []
    hidden = data.draw(st.integers(0, 2))
    for operand in equation.partition("->")[0].split(","):
        shape: list[int] = []
        for name in operand.replace("...", "01"[:hidden]):
            size = known.setdefault(name, data.draw(st.integers(1, 3)))
            shape.append(size)
        shapes.append(tuple(shape))
    return shapes


def _einsum(data: st.DataObject) -> Call:
    equation = data.draw(st.sampled_from(_EQUATIONS))
    return Call("einsum", {"tensors": _sized(data, equation)}, {"equation": equation})


def _einsum_of_one(data: st.DataObject) -> Call:
    equation = data.draw(st.sampled_from(_OF_ONE))
    return Call("einsum", {"tensors": _sized(data, equation)}, {"equation": equation})


CALLS: dict[str, Draw] = {"einsum": _einsum, "einsum one": _einsum_of_one}
