"""Pictures as SVG that this package writes itself: `svg` has what they share."""
