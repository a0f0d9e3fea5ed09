"""
What networks end in: [yolo], [region], [detection] and [cost].

Heads are outputs as the layer above computes them: the boxes that darknet makes of their numbers, and its loss, depend
on boxes of objects, which a graph does not have.
"""

from __future__ import annotations

from npuc.frontends.darknet.layer import DarknetLayer, DarknetValue
from npuc.frontends.darknet.layers import Meaning, registry

MEANINGS: dict[str, Meaning] = {}
section = registry(MEANINGS)
# what a head's boxes and loss are made with
_HEAD = frozenset(
    (
        "anchors ignore_thresh truth_thresh iou_thresh iou_loss iou_normalizer obj_normalizer cls_normalizer "
        "uc_normalizer delta_normalizer scale_x_y nms_kind beta_nms max max_delta jitter random resize softmax "
        "bias_match rescore absolute thresh coord_scale noobject_scale object_scale class_scale mask_scale "
        "class_thresh num side sqrt box classfix background log map tree new_coords focal_loss label_smooth_eps "
        "counters_per_class objectness_smooth show_details iou_thresh_kind yolo_point track_history_size "
        "sim_thresh dets_for_track dets_for_show track_ciou_norm embedding_layer jitter_resize letter_box "
        "embedding_size max_boxes ignore_thresh_high joint best_iou object_focal"
    ).split()
)


@section("yolo", "gaussian_yolo")
def yolo(c: DarknetLayer) -> DarknetValue:
    """For each anchor that `mask` names a box, an objectness and classes; uncertainties where it is Gaussian."""
    own = c.section
    own.read |= _HEAD
    classes, total = own.integer("classes", 20, 1), own.integer("num", 1, 1)
    own.read.add("mask")
    count = len(own.integers("mask")) or total
    numbers = (9 if own.word == "gaussian_yolo" else 5) + classes
    return _head(c, count, numbers, "mask")


@section("region")
def region(c: DarknetLayer) -> DarknetValue:
    """For each anchor a box of `coords` numbers, an objectness and classes."""
    own = c.section
    own.read |= _HEAD
    return _head(c, own.integer("num", 1, 1), own.integer("coords", 4, 1) + own.integer("classes", 20, 1) + 1, "num")


def _head(c: DarknetLayer, anchors: int, numbers: int, option: str) -> DarknetValue:
    x = c.image()
    if c.shape(x)[1] != anchors * numbers:
        raise c.section.wrong(
            option,
            f"found {c.shape(x)[1]} channels, expected {anchors} anchors x {numbers} numbers",
            f"the convolution above it needs filters={anchors * numbers}",
        )
    return DarknetValue(x, is_head=True)


@section("detection")
def detection(c: DarknetLayer) -> DarknetValue:
    """The head of the first YOLO: for each cell of `side` x `side` its classes, and for each box a score and a box."""
    own, x = c.section, c.vectors()
    own.read |= _HEAD
    own.refuse("reorg")
    side, boxes = own.integer("side", 7, 1, 1 << 15), own.integer("num", 1, 1)
    numbers = boxes * (1 + own.integer("coords", 1, 1)) + own.integer("classes", 1, 1)
    if c.shape(x)[1:] != (side * side * numbers,):
        found = list(c.shape(x)[1:])
        raise own.wrong("side", f"found {found} features, expected {side} x {side} cells of {numbers} numbers")
    return DarknetValue(x, is_head=True)


@section("cost")
def cost(c: DarknetLayer) -> DarknetValue:
    """darknet's loss; here `--loss` says it, and the value above is the output."""
    c.section.read |= {"type", "scale", "ratio", "noobj", "thresh"}
    return DarknetValue(c.x)
