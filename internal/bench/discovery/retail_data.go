package discovery

// retail is the database of a shop.
type retail struct {
	Products table[product]  `json:"products"`
	Users    table[shopper]  `json:"users"`
	Orders   table[shopping] `json:"orders"`
}

func (db *retail) tables() map[string]records {
	return map[string]records{"products": &db.Products, "users": &db.Users, "orders": &db.Orders}
}

type product struct {
	Name     string              `json:"name"`
	ID       string              `json:"product_id"`
	Variants map[string]*variant `json:"variants"`
}

type variant struct {
	ID        string            `json:"item_id"`
	Options   map[string]string `json:"options"`
	Available bool              `json:"available"`
	Price     float64           `json:"price"`
}

type shopper struct {
	ID             string                   `json:"user_id"`
	Name           name                     `json:"name"`
	Address        address                  `json:"address"`
	Email          string                   `json:"email"`
	PaymentMethods map[string]*shopperMeans `json:"payment_methods"`
	Orders         []string                 `json:"orders"`
}

type name struct {
	First string `json:"first_name"`
	Last  string `json:"last_name"`
}

type address struct {
	Address1 string `json:"address1"`
	Address2 string `json:"address2"`
	City     string `json:"city"`
	Country  string `json:"country"`
	State    string `json:"state"`
	Zip      string `json:"zip"`
}

// shopperMeans is a credit card, a PayPal account or a gift card. Only a gift card has a balance.
type shopperMeans struct {
	Source   string   `json:"source"`
	ID       string   `json:"id"`
	Brand    string   `json:"brand,omitempty"`
	LastFour string   `json:"last_four,omitempty"`
	Balance  *float64 `json:"balance,omitempty"`
}

const giftCard = "gift_card"

// covers reports whether a payment is possible: only the balance of a gift card is known.
func (m *shopperMeans) covers(amount float64) bool {
	return m.Source != giftCard || m.Balance == nil || *m.Balance >= amount
}

// add changes the balance of a gift card.
func (m *shopperMeans) add(amount float64) {
	if m.Source == giftCard && m.Balance != nil {
		*m.Balance = cents(*m.Balance + amount)
	}
}

type shopping struct {
	ID           string            `json:"order_id"`
	User         string            `json:"user_id"`
	Address      address           `json:"address"`
	Items        []*shoppingItem   `json:"items"`
	Status       string            `json:"status"`
	Fulfillments []fulfillment     `json:"fulfillments"`
	Payments     []shoppingPayment `json:"payment_history"`

	CancelReason       string   `json:"cancel_reason,omitempty"`
	ExchangeItems      []string `json:"exchange_items,omitempty"`
	ExchangeNewItems   []string `json:"exchange_new_items,omitempty"`
	ExchangePayment    string   `json:"exchange_payment_method_id,omitempty"`
	ExchangeDifference *float64 `json:"exchange_price_difference,omitempty"`
	ReturnItems        []string `json:"return_items,omitempty"`
	ReturnPayment      string   `json:"return_payment_method_id,omitempty"`
}

type shoppingItem struct {
	Name    string            `json:"name"`
	Product string            `json:"product_id"`
	ID      string            `json:"item_id"`
	Price   float64           `json:"price"`
	Options map[string]string `json:"options"`
}

type fulfillment struct {
	TrackingID []string `json:"tracking_id"`
	Items      []string `json:"item_ids"`
}

type shoppingPayment struct {
	Type   string  `json:"transaction_type"`
	Amount float64 `json:"amount"`
	Means  string  `json:"payment_method_id"`
}

// item is the first item of an order with an id; nil if there is none.
func (o *shopping) item(id string) *shoppingItem {
	for _, item := range o.Items {
		if item.ID == id {
			return item
		}
	}
	return nil
}

// has reports whether an order has all these items, those that are listed twice at least twice.
func (o *shopping) has(ids []string) bool {
	left := map[string]int{}
	for _, item := range o.Items {
		left[item.ID]++
	}
	for _, id := range ids {
		if left[id]--; left[id] < 0 {
			return false
		}
	}
	return true
}
