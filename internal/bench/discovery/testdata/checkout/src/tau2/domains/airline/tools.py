# Tools of a small airline, in the form in which the reader of docstrings expects them. The words are our own.
class AirlineTools:
    @is_tool(ToolType.WRITE)
    def book_reservation(self, user_id: str, origin: str) -> Reservation:
        """Books flights."""

    @is_tool(ToolType.GENERIC)
    def calculate(self, expression: str) -> str:
        """Works out a sum."""

    @is_tool(ToolType.WRITE)
    def cancel_reservation(self, reservation_id: str) -> Reservation:
        """Cancels all flights of a reservation."""

    @is_tool(ToolType.READ)
    def get_flight_status(self, flight_number: str, date: str) -> str:
        """Says whether a flight is on time."""

    @is_tool(ToolType.READ)
    def get_reservation_details(self, reservation_id: str) -> Reservation:
        """Shows a reservation."""

    @is_tool(ToolType.READ)
    def get_user_details(self, user_id: str) -> User:
        """Shows a passenger's account."""

    @is_tool(ToolType.READ)
    def list_all_airports(self) -> AirportInfo:
        """Lists the airports."""

    @is_tool(ToolType.READ)
    def search_direct_flight(self, origin: str, destination: str, date: str) -> list:
        """Finds flights without a stop."""

    @is_tool(ToolType.READ)
    def search_onestop_flight(self, origin: str, destination: str, date: str) -> list:
        """Finds flights with one stop."""

    @is_tool(ToolType.WRITE)
    def send_certificate(self, user_id: str, amount: int) -> str:
        """Gives a voucher to a passenger."""

    @is_tool(ToolType.GENERIC)
    def transfer_to_human_agents(self, summary: str) -> str:
        """Calls a person to the phone."""

    @is_tool(ToolType.WRITE)
    def update_reservation_baggages(self, reservation_id: str, total_baggages: int) -> Reservation:
        """Changes the bags of a reservation."""

    @is_tool(ToolType.WRITE)
    def update_reservation_flights(self, reservation_id: str, cabin: CabinClass) -> Reservation:
        """Changes the flights of a reservation."""

    @is_tool(ToolType.WRITE)
    def update_reservation_passengers(self, reservation_id: str, passengers: list) -> Reservation:
        """Changes who flies."""
