"""The layer `catalogue`: a metadata catalogue service that speaks AMGA's protocol."""
