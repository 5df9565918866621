package discovery

import (
	"errors"
	"fmt"
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
		}) (string, error) {
			return db.find(func(u *shopper) bool { return strings.EqualFold(u.Email, in.Email) })
		}),
		newTool("find_user_id_by_name_zip", reads, func(in struct {
			First string `json:"first_name"`
			Last  string `json:"last_name"`
			Zip   string `json:"zip"`
		}) (string, error) {
			return db.find(func(u *shopper) bool {
				return strings.EqualFold(u.Name.First, in.First) && strings.EqualFold(u.Name.Last, in.Last) &&
					u.Address.Zip == in.Zip
			})
		}),
		newTool("get_item_details", reads, func(in struct {
			Item string `json:"item_id"`
		}) (*variant, error) {
			for p := range db.Products.all() {
				if v := p.Variants[in.Item]; v != nil {
					return v, nil
				}
			}
			return nil, errors.New("item not found")
		}),
		newTool("get_order_details", reads, func(in ofOrder) (*shopping, error) {
			return db.Orders.found(in.Order, "order")
		}),
		newTool("get_product_details", reads, func(in struct {
			Product string `json:"product_id"`
		}) (*product, error) {
			return db.Products.found(in.Product, "product")
		}),
		newTool("get_user_details", reads, func(in byUser) (*shopper, error) {
			return db.Users.found(in.User, "user")
		}),
		newTool("list_all_product_types", reads, func(nothing) (map[string]string, error) {
			all := map[string]string{}
			for p := range db.Products.all() {
				all[p.Name] = p.ID
			}
			return all, nil
		}),
		newTool("modify_pending_order_address", writes, func(in struct {
			ofOrder
			address
		}) (*shopping, error) {
			o, err := db.pending(in.Order)
			if err == nil {
				o.Address = in.address
			}
			return o, err
		}),
		newTool("modify_pending_order_items", writes, db.modify),
		newTool("modify_pending_order_payment", writes, db.pay),
		newTool("modify_user_address", writes, func(in struct {
			byUser
			address
		}) (*shopper, error) {
			u, err := db.Users.found(in.User, "user")
			if err == nil {
				u.Address = in.address
			}
			return u, err
		}),
		newTool("return_delivered_order_items", writes, db.giveBack),
	}
}

// find is the id of the first user that fits, by id.
func (db *retail) find(fits func(*shopper) bool) (string, error) {
	for u := range db.Users.all() {
		if fits(u) {
			return u.ID, nil
		}
	}
	return "", errors.New("user not found")
}

// means is a way of paying of the user of an order.
func (db *retail) means(o *shopping, id string) (*shopperMeans, error) {
	u, err := db.Users.found(o.User, "user")
	if err != nil {
		return nil, err
	}
	return member(u.PaymentMethods, id, "payment method")
}

// inStatus is an order that has exactly this status.
func (db *retail) inStatus(id, status, what string) (*shopping, error) {
	o, err := db.Orders.found(id, "order")
	if err == nil && o.Status != status {
		return nil, fmt.Errorf("only an order that is %s can be %s", status, what)
	}
	return o, err
}

// pending is an order that was not sent yet, its items modified or not.
func (db *retail) pending(id string) (*shopping, error) {
	o, err := db.Orders.found(id, "order")
	if err == nil && !strings.Contains(o.Status, pending) {
		return nil, errors.New("only a pending order can be modified")
	}
	return o, err
}

func (db *retail) cancel(in struct {
	Order  string `json:"order_id"`
	Reason string `json:"reason"`
}) (*shopping, error) {
	o, err := db.inStatus(in.Order, pending, "cancelled")
	if err != nil {
		return nil, err
	}
	if in.Reason != "no longer needed" && in.Reason != "ordered by mistake" {
		return nil, errors.New("invalid reason")
	}
	var refunds []shoppingPayment
	for _, p := range o.Payments {
		m, err := db.means(o, p.Means)
		if err != nil {
			return nil, err
		}
		refunds = append(refunds, shoppingPayment{"refund", p.Amount, p.Means})
		m.add(p.Amount)
	}
	o.Status, o.CancelReason = cancelled, in.Reason
	o.Payments = append(o.Payments, refunds...)
	return o, nil
}

// swap finds what items of an order become, and what that costs.
func (db *retail) swap(o *shopping, in changeItems) (items []*shoppingItem, become []*variant, cost float64,
	err error) {
	if !o.has(in.Items) {
		return nil, nil, 0, errors.New("item not found")
	}
	if len(in.Items) != len(in.NewItems) {
		return nil, nil, 0, errors.New("the numbers of items must be equal")
	}
	for i, id := range in.Items {
		item := o.item(id)
		p, err := db.Products.found(item.Product, "product")
		if err != nil {
			return nil, nil, 0, err
		}
		v, err := member(p.Variants, in.NewItems[i], "variant")
		if err != nil {
			return nil, nil, 0, err
		}
		if !v.Available {
			return nil, nil, 0, fmt.Errorf("new item %s is not available", v.ID)
		}
		items, become = append(items, item), append(become, v)
		cost += v.Price - item.Price
	}
	return items, become, cost, nil
}

func (db *retail) exchange(in changeItems) (*shopping, error) {
	o, err := db.inStatus(in.Order, delivered, "exchanged")
	if err != nil {
		return nil, err
	}
	_, _, cost, err := db.swap(o, in)
	if err != nil {
		return nil, err
	}
	cost = cents(cost)
	m, err := db.means(o, in.Means)
	if err != nil {
		return nil, err
	}
	if !m.covers(cost) {
		return nil, errors.New("the balance of the gift card does not cover the difference")
	}
	o.Status = exchangeRequested
	o.ExchangeItems = slices.Sorted(slices.Values(in.Items))
	o.ExchangeNewItems = slices.Sorted(slices.Values(in.NewItems))
	o.ExchangePayment, o.ExchangeDifference = in.Means, &cost
	return o, nil
}

// modify gives all items the price and the options of the last variant, as the tool of tau2-bench does.
func (db *retail) modify(in changeItems) (*shopping, error) {
	o, err := db.inStatus(in.Order, pending, "modified")
	if err != nil {
		return nil, err
	}
	for i, id := range in.Items {
		if i < len(in.NewItems) && id == in.NewItems[i] {
			return nil, errors.New("the new item must differ from the old one")
		}
	}
	items, become, cost, err := db.swap(o, in)
	if err != nil {
		return nil, err
	}
	m, err := db.means(o, in.Means)
	if err != nil {
		return nil, err
	}
	if !m.covers(cost) {
		return nil, errors.New("the balance of the gift card does not cover the new item")
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
	return o, nil
}

func (db *retail) pay(in struct {
	Order string `json:"order_id"`
	Means string `json:"payment_method_id"`
}) (*shopping, error) {
	o, err := db.pending(in.Order)
	if err != nil {
		return nil, err
	}
	m, err := db.means(o, in.Means)
	if err != nil {
		return nil, err
	}
	if len(o.Payments) != 1 || o.Payments[0].Type != "payment" {
		return nil, errors.New("the order must have exactly one payment")
	}
	paid := o.Payments[0]
	if paid.Means == in.Means {
		return nil, errors.New("the new payment method must differ from the old one")
	}
	if !m.covers(paid.Amount) {
		return nil, errors.New("the balance of the gift card does not cover the order")
	}
	before, err := db.means(o, paid.Means)
	if err != nil {
		return nil, err
	}
	o.Payments = append(o.Payments, shoppingPayment{"payment", paid.Amount, in.Means},
		shoppingPayment{"refund", paid.Amount, paid.Means})
	m.add(-paid.Amount)
	before.add(paid.Amount)
	return o, nil
}

func (db *retail) giveBack(in struct {
	Order string   `json:"order_id"`
	Items []string `json:"item_ids"`
	Means string   `json:"payment_method_id"`
}) (*shopping, error) {
	o, err := db.inStatus(in.Order, delivered, "returned")
	if err != nil {
		return nil, err
	}
	m, err := db.means(o, in.Means)
	if err != nil {
		return nil, err
	}
	if m.Source != giftCard && (len(o.Payments) == 0 || in.Means != o.Payments[0].Means) {
		return nil, errors.New("the payment method must be the original one or a gift card")
	}
	if !o.has(in.Items) {
		return nil, errors.New("item not found")
	}
	o.Status, o.ReturnPayment = returnRequested, in.Means
	o.ReturnItems = slices.Sorted(slices.Values(in.Items))
	return o, nil
}
