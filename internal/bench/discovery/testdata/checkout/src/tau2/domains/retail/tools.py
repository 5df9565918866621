# Tools of a small shop, in the form in which the reader of docstrings expects them. The words are our own.
class RetailTools:
    @is_tool(ToolType.GENERIC)
    def calculate(self, expression: str) -> str:
        """
        Works out a sum.

        Args:
            expression: What to work out, with + - * / and parentheses.
        """

    @is_tool(ToolType.WRITE)
    def cancel_pending_order(self, order_id: str, reason: str) -> Order:
        """Cancels an order that was not sent yet.
        The money goes back to where it came from.

        Args:
            order_id: The number of the order, such as '#A1'.
            reason: Either 'no longer needed' or 'ordered by mistake'.

        Returns:
            Order: The order.
        """

    @is_tool(ToolType.WRITE)
    def exchange_delivered_order_items(
        self,
        order_id: str,
        item_ids: List[str],
        new_item_ids: List[str],
        payment_method_id: str,
    ) -> Order:
        """Exchanges things that arrived for others of their kind.

        Args:
            order_id: The number of the order.
            item_ids: The things to send back.
            new_item_ids: The things to get for them,
                          in the same order.
            payment_method_id: Who pays or gets the difference.
        """

    @is_tool(ToolType.READ)
    def find_user_id_by_email(self, email: str) -> str:
        """Finds a customer.

        Args:
            email: The address of the customer's mail.
        """

    @is_tool(ToolType.READ)
    def find_user_id_by_name_zip(
        self, first_name: str, last_name: str, zip: str
    ) -> str:
        """Finds a customer by name and zip code.

        Args:
            first_name: The given name.
            last_name: The family name.
            zip: The zip code.
        """

    @is_tool(ToolType.READ)
    def get_item_details(self, item_id: str) -> Variant:
        """Says what a thing is.

        Args:
            item_id: The number of the thing.
        """

    @is_tool(ToolType.READ)
    def get_order_details(self, order_id: str) -> Order:
        """Shows an order.

        Args:
            order_id: The number of the order.
        """

    @is_tool(ToolType.READ)
    def get_product_details(self, product_id: str) -> Product:
        """Shows a product and its variants.

        Args:
            product_id: The number of the product.
        """

    @is_tool(ToolType.READ)
    def get_user_details(self, user_id: str) -> User:
        """Shows a customer.

        Args:
            user_id: The name of the customer's account.
        """

    @is_tool(ToolType.READ)
    def list_all_product_types(self) -> str:
        """Lists the products."""

    @is_tool(ToolType.WRITE)
    def modify_pending_order_address(
        self, order_id: str, address1: str, address2: str, city: str, state: str, country: str, zip: str
    ) -> Order:
        """Sends an order somewhere else.

        Args:
            order_id: The number of the order.
        """

    @is_tool(ToolType.WRITE)
    def modify_pending_order_items(
        self, order_id: str, item_ids: List[str], new_item_ids: List[str], payment_method_id: str
    ) -> Order:
        """Changes what is in an order.

        Args:
            order_id: The number of the order.
        """

    @is_tool(ToolType.WRITE)
    def modify_pending_order_payment(self, order_id: str, payment_method_id: str) -> Order:
        """Changes who pays for an order.

        Args:
            order_id: The number of the order.
        """

    @is_tool(ToolType.WRITE)
    def modify_user_address(
        self, user_id: str, address1: str, address2: str, city: str, state: str, country: str, zip: str
    ) -> User:
        """Changes where a customer lives.

        Args:
            user_id: The name of the customer's account.
        """

    @is_tool(ToolType.WRITE)
    def return_delivered_order_items(
        self, order_id: str, item_ids: List[str], payment_method_id: str
    ) -> Order:
        """Takes things back.

        Args:
            order_id: The number of the order.
        """

    @is_tool(ToolType.GENERIC)
    def transfer_to_human_agents(self, summary: str) -> str:
        """
        Calls a person to the phone.

        Args:
            summary: What the person should know.
        """
