"""Forecasts: predictions of formulas for a model, in the metrics that its runs report."""

from headroom.forecasts.forecast import Forecast, Limits, forecast_of, of_stand_in

__all__ = ["Forecast", "Limits", "forecast_of", "of_stand_in"]
