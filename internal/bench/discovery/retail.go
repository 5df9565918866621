package discovery

import (
	"math"
	"slices"
	"strings"
)

// The statuses of orders that tools change, and what they become.
const (
	pending           = "pending"
	modified          = "pending (item modified)"
	delivered         = "delivered"
	cancelled         = "cancelled"
	exchangeRequested = "exchange requested"
	returnRequested   = "return requested"
)

// What several tools take.
type (
	ofOrder struct {
		Order string `json:"order_id"`
	}
	changeItems struct {
		Order    string   `json:"order_id"`
		Items    []string `json:"item_ids"`
		NewItems []string `json:"new_item_ids"`
		Means    string   `json:"payment_method_id"`
	}
)

func (db *retail) tools() []*tool {
	return []*tool{
		newTool("cancel_pending_order", writes, db.cancel),
		newTool("exchange_delivered_order_items", writes, db.exchange),
		newTool("find_user_id_by_email", reads, func(in struct {
			Email string `json:"email"`
		}) string {
			return db.find(func(u *shopper) bool { return strings.EqualFold(u.Email, in.Email) })
		}),
		newTool("find_user_id_by_name_zip", reads, func(in struct {
			First string `json:"first_name"`
			Last  string `json:"last_name"`
			Zip   string `json:"zip"`
		}) string {
			return db.find(func(u *shopper) bool {
				return strings.EqualFold(u.Name.First, in.First) && strings.EqualFold(u.Name.Last, in.Last) &&
					u.Address.Zip == in.Zip
			})
		}),
		newTool("get_item_details", reads, func(in struct {
			Item string `json:"item_id"`
		}) *variant {
			for p := range db.Products.all() {
				if v := p.Variants[in.Item]; v != nil {
					return v
				}
			}
			refuse("item not found")
			return nil
		}),
		newTool("get_order_details", reads, func(in ofOrder) *shopping { return db.Orders.found(in.Order, "order") }),
		newTool("get_product_details", reads, func(in struct {
			Product string `json:"product_id"`
		}) *product {
			return db.Products.found(in.Product, "product")
		}),
		newTool("get_user_details", reads, func(in byUser) *shopper { return db.Users.found(in.User, "user") }),
		newTool("list_all_product_types", reads, func(nothing) map[string]string {
			all := map[string]string{}
			for p := range db.Products.all() {
				all[p.Name] = p.ID
			}
			return all
		}),
		newTool("modify_pending_order_address", writes, func(in struct {
			ofOrder
			address
		}) *shopping {
			o := db.pending(in.Order)
			o.Address = in.address
			return o
		}),
		newTool("modify_pending_order_items", writes, db.modify),
		newTool("modify_pending_order_payment", writes, db.pay),
		newTool("modify_user_address", writes, func(in struct {
			byUser
			address
		}) *shopper {
			u := db.Users.found(in.User, "user")
			u.Address = in.address
			return u
		}),
		newTool("return_delivered_order_items", writes, db.giveBack),
	}
}

// find is the id of the first user that fits, by id.
func (db *retail) find(fits func(*shopper) bool) string {
	for u := range db.Users.all() {
		if fits(u) {
			return u.ID
		}
	}
	refuse("user not found")
	return ""
}

// means is a way of paying of the user of an order.
func (db *retail) means(o *shopping, id string) *shopperMeans {
	return member(db.Users.found(o.User, "user").PaymentMethods, id, "payment method")
}

// inStatus is an order that has exactly this status.
func (db *retail) inStatus(id, status, what string) *shopping {
	o := db.Orders.found(id, "order")
	if o.Status != status {
		refuse("only an order that is %s can be %s", status, what)
	}
	return o
}

// pending is an order that was not sent yet, its items modified or not.
func (db *retail) pending(id string) *shopping {
	o := db.Orders.found(id, "order")
	if !strings.Contains(o.Status, pending) {
		refuse("only a pending order can be modified")
	}
	return o
}

func (db *retail) cancel(in struct {
	Order  string `json:"order_id"`
	Reason string `json:"reason"`
}) *shopping {
	o := db.inStatus(in.Order, pending, "cancelled")
	if in.Reason != "no longer needed" && in.Reason != "ordered by mistake" {
		refuse("invalid reason")
	}
	var refunds []shoppingPayment
	for _, p := range o.Payments {
		db.means(o, p.Means).add(p.Amount)
		refunds = append(refunds, shoppingPayment{"refund", p.Amount, p.Means})
	}
	o.Status, o.CancelReason = cancelled, in.Reason
	o.Payments = append(o.Payments, refunds...)
	return o
}

// swap finds what items of an order become, and what that costs.
func (db *retail) swap(o *shopping, in changeItems) (items []*shoppingItem, become []*variant, cost float64) {
	switch {
	case !o.has(in.Items):
		refuse("item not found")
	case len(in.Items) != len(in.NewItems):
		refuse("the numbers of items must be equal")
	}
	for i, id := range in.Items {
		item := o.item(id)
		v := member(db.Products.found(item.Product, "product").Variants, in.NewItems[i], "variant")
		if !v.Available {
			refuse("new item %s is not available", v.ID)
		}
		items, become = append(items, item), append(become, v)
		cost += v.Price - item.Price
	}
	return items, become, cost
}

func (db *retail) exchange(in changeItems) *shopping {
	o := db.inStatus(in.Order, delivered, "exchanged")
	_, _, cost := db.swap(o, in)
	cost = cents(cost)
	if !db.means(o, in.Means).covers(cost) {
		refuse("the balance of the gift card does not cover the difference")
	}
	o.Status = exchangeRequested
	o.ExchangeItems = slices.Sorted(slices.Values(in.Items))
	o.ExchangeNewItems = slices.Sorted(slices.Values(in.NewItems))
	o.ExchangePayment, o.ExchangeDifference = in.Means, &cost
	return o
}

// modify gives all items the price and the options of the last variant, as the tool of tau2-bench does.
func (db *retail) modify(in changeItems) *shopping {
	o := db.inStatus(in.Order, pending, "modified")
	for i, id := range in.Items {
		if i < len(in.NewItems) && id == in.NewItems[i] {
			refuse("the new item must differ from the old one")
		}
	}
	items, become, cost := db.swap(o, in)
	m := db.means(o, in.Means)
	if !m.covers(cost) {
		refuse("the balance of the gift card does not cover the new item")
	}
	kind := "refund"
	if cost > 0 {
		kind = "payment"
	}
	o.Payments = append(o.Payments, shoppingPayment{kind, math.Abs(cost), in.Means})
	m.add(-cost)
	for i, item := range items {
		last := become[len(become)-1]
		item.ID, item.Price, item.Options = in.NewItems[i], last.Price, last.Options
	}
	o.Status = modified
	return o
}

func (db *retail) pay(in struct {
	Order string `json:"order_id"`
	Means string `json:"payment_method_id"`
}) *shopping {
	o := db.pending(in.Order)
	m := db.means(o, in.Means)
	if len(o.Payments) != 1 || o.Payments[0].Type != "payment" {
		refuse("the order must have exactly one payment")
	}
	paid := o.Payments[0]
	switch {
	case paid.Means == in.Means:
		refuse("the new payment method must differ from the old one")
	case !m.covers(paid.Amount):
		refuse("the balance of the gift card does not cover the order")
	}
	before := db.means(o, paid.Means)
	o.Payments = append(o.Payments, shoppingPayment{"payment", paid.Amount, in.Means},
		shoppingPayment{"refund", paid.Amount, paid.Means})
	m.add(-paid.Amount)
	before.add(paid.Amount)
	return o
}

func (db *retail) giveBack(in struct {
	Order string   `json:"order_id"`
	Items []string `json:"item_ids"`
	Means string   `json:"payment_method_id"`
}) *shopping {
	o := db.inStatus(in.Order, delivered, "returned")
	m := db.means(o, in.Means)
	switch {
	case m.Source != giftCard && (len(o.Payments) == 0 || in.Means != o.Payments[0].Means):
		refuse("the payment method must be the original one or a gift card")
	case !o.has(in.Items):
		refuse("item not found")
	}
	o.Status, o.ReturnPayment = returnRequested, in.Means
	o.ReturnItems = slices.Sorted(slices.Values(in.Items))
	return o
}
