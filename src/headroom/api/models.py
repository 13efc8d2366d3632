"""Models in notebooks: a card with the picture and what the model cannot exceed.

The simulation draws nothing and asks no solver; the Python front brings both.
"""

from headroom.errors import HeadroomError
from headroom.forecasts import forecast_of
from headroom.report.cards import model_card
from headroom.report.terminal.solved import bound_lines
from headroom.simulation import Model, model_data


def card_of(model: Model) -> str:
    """Return a model as HTML for a notebook; a model that is not complete says what it lacks."""
    try:
        return model_card(model.name, model_data(model), bound_lines(forecast_of(model)))
    except HeadroomError as error:
        return model_card(model.name, model.to_data(), [error.message])
