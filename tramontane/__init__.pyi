"""What type checkers and editors are told of the names that `__init__.py` imports only when they are asked for."""

from tramontane.api import Result as Result
from tramontane.api import simulate as simulate
from tramontane.errors import InputError as InputError
from tramontane.substrates.isolation import PointError as PointError
from tramontane.substrates.single import TooLargeError as TooLargeError

__version__: str
