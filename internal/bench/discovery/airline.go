package discovery

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// What several tools take.
type (
	ofReservation struct {
		Reservation string `json:"reservation_id"`
	}
	route struct {
		Origin      string `json:"origin"`
		Destination string `json:"destination"`
		Date        string `json:"date"`
	}
)

// The fees of a booking, for each passenger and each bag that is not free.
const (
	insuranceFee = 30
	bagFee       = 50
)

func (db *airline) tools() []*tool {
	return []*tool{
		newTool("book_reservation", writes, db.book),
		newTool("cancel_reservation", writes, db.cancel),
		newTool("get_flight_status", reads, func(in leg) string { return db.onDate(in).Status }),
		newTool("get_reservation_details", reads, func(in ofReservation) *reservation {
			return db.Reservations.found(in.Reservation, "reservation")
		}),
		newTool("get_user_details", reads, func(in byUser) *flyer { return db.Users.found(in.User, "user") }),
		newTool("list_all_airports", reads, func(nothing) []airport { return airports }),
		newTool("search_direct_flight", reads, func(in route) []direct { return db.search(in, "") }),
		newTool("search_onestop_flight", reads, db.oneStop),
		newTool("send_certificate", writes, db.give),
		newTool("update_reservation_baggages", writes, db.bags),
		newTool("update_reservation_flights", writes, db.reroute),
		newTool("update_reservation_passengers", writes, func(in struct {
			ofReservation
			Passengers []passenger `json:"passengers"`
		}) *reservation {
			r := db.Reservations.found(in.Reservation, "reservation")
			if len(in.Passengers) != len(r.Passengers) {
				refuse("the number of passengers does not match")
			}
			r.Passengers = in.Passengers
			return r
		}),
	}
}

// An airport is one with its city.
type airport struct {
	IATA string `json:"iata"`
	City string `json:"city"`
}

var airports = []airport{
	{"SFO", "San Francisco"}, {"JFK", "New York"}, {"LAX", "Los Angeles"}, {"ORD", "Chicago"}, {"DFW", "Dallas"},
	{"DEN", "Denver"}, {"SEA", "Seattle"}, {"ATL", "Atlanta"}, {"MIA", "Miami"}, {"BOS", "Boston"}, {"PHX", "Phoenix"},
	{"IAH", "Houston"}, {"LAS", "Las Vegas"}, {"MCO", "Orlando"}, {"EWR", "Newark"}, {"CLT", "Charlotte"},
	{"MSP", "Minneapolis"}, {"DTW", "Detroit"}, {"PHL", "Philadelphia"}, {"LGA", "LaGuardia"},
}

func (db *airline) onDate(l leg) *onDate {
	return member(db.Flights.found(l.Number, "flight "+l.Number).Dates, l.Date, "flight "+l.Number+" on "+l.Date)
}

// free is a flight with seats for so many passengers.
func (db *airline) free(l leg, in cabin, passengers int) (reservedLeg, *onDate) {
	on := db.onDate(l)
	switch {
	case on.Status != available:
		refuse("flight %s is not available on %s", l.Number, l.Date)
	case on.Seats[in] < passengers:
		refuse("flight %s has not enough seats", l.Number)
	}
	f := db.Flights.get(l.Number)
	return reservedLeg{l.Number, f.Origin, f.Destination, l.Date, on.Prices[in]}, on
}

// search finds flights on a date, in the order of their numbers. An empty destination is any.
func (db *airline) search(r route, after string) []direct {
	all := []direct{}
	for f := range db.Flights.all() {
		on := f.Dates[r.Date]
		if f.Origin != r.Origin || r.Destination != "" && f.Destination != r.Destination || on == nil ||
			on.Status != available || f.Departure < after {
			continue
		}
		all = append(all, direct{Number: f.Number, Origin: f.Origin, Destination: f.Destination, Status: available,
			Departure: f.Departure, Arrival: f.Arrival, Seats: on.Seats, Prices: on.Prices})
	}
	return all
}

// oneStop finds pairs of flights. The second may leave on the next day if the first arrives then.
func (db *airline) oneStop(r route) [][]direct {
	pairs := [][]direct{}
	for _, first := range db.search(route{Origin: r.Origin, Date: r.Date}, "") {
		first.Date = r.Date
		next := r.Date
		if strings.Contains(first.Arrival, "+1") {
			day, err := strconv.Atoi(r.Date[max(0, len(r.Date)-2):])
			if err != nil {
				refuse("the date is not one")
			}
			next = fmt.Sprintf("2024-05-%d", day+1)
		}
		for _, second := range db.search(route{first.Destination, r.Destination, next}, first.Arrival) {
			second.Date = next
			pairs = append(pairs, []direct{first, second})
		}
	}
	return pairs
}

// newReservation and newCertificate are the numbers that new records get, one after the other.
var (
	newReservation = []string{"HATHAT", "HATHAU", "HATHAV"}
	newCertificate = []string{"certificate_3221322", "certificate_3221323", "certificate_3221324"}
)

// now is the time of the domain.
const now = "2024-05-15T15:00:00"

func (db *airline) book(in struct {
	User        string      `json:"user_id"`
	Origin      string      `json:"origin"`
	Destination string      `json:"destination"`
	Type        tripType    `json:"flight_type"`
	Cabin       cabin       `json:"cabin"`
	Flights     []leg       `json:"flights"`
	Passengers  []passenger `json:"passengers"`
	Payments    []payment   `json:"payment_methods"`
	Bags        int         `json:"total_baggages"`
	PaidBags    int         `json:"nonfree_baggages"`
	Insurance   insurance   `json:"insurance"`
}) *reservation {
	u := db.Users.found(in.User, "user "+in.User)
	i := slices.IndexFunc(newReservation, func(id string) bool { return db.Reservations.get(id) == nil })
	if i < 0 {
		refuse("too many reservations")
	}
	r := &reservation{ID: newReservation[i], User: in.User, Origin: in.Origin, Destination: in.Destination, Type: in.Type,
		Cabin: in.Cabin, Flights: []reservedLeg{}, Passengers: in.Passengers, Payments: in.Payments, Created: now,
		Bags: in.Bags, PaidBags: in.PaidBags, Insurance: in.Insurance}
	total := bagFee * in.PaidBags
	if in.Insurance == "yes" {
		total += insuranceFee * len(in.Passengers)
	}
	var days []*onDate
	for _, l := range in.Flights {
		reserved, on := db.free(l, in.Cabin, len(in.Passengers))
		r.Flights, days = append(r.Flights, reserved), append(days, on)
		total += reserved.Price * len(in.Passengers)
	}
	u.spend(in.Payments, total)
	for _, on := range days {
		on.Seats[in.Cabin] -= len(in.Passengers)
	}
	db.Reservations.add(r.ID, r)
	u.Reservations = append(u.Reservations, r.ID)
	return r
}

// spend takes payments from what a user has, if they are possible and make the total. A certificate is used up.
func (u *flyer) spend(payments []payment, total int) {
	paid := 0
	for _, p := range payments {
		if !member(u.PaymentMethods, p.ID, "payment method "+p.ID).covers(p.Amount) {
			refuse("payment method %s has not enough balance", p.ID)
		}
		paid += p.Amount
	}
	if paid != total {
		refuse("the payments make %d, the price is %d", paid, total)
	}
	for _, p := range payments {
		switch m := u.PaymentMethods[p.ID]; {
		case m == nil: // a certificate twice
		case m.Source == giftCard:
			*m.Amount -= float64(p.Amount)
		case m.Source == certificate:
			delete(u.PaymentMethods, p.ID)
		}
	}
}

func (db *airline) cancel(in ofReservation) *reservation {
	r := db.Reservations.found(in.Reservation, "reservation "+in.Reservation)
	for _, p := range slices.Clone(r.Payments) {
		r.Payments = append(r.Payments, payment{p.ID, -p.Amount})
	}
	r.Status = cancelled
	return r
}

// update takes the price of a change of a reservation, which may be negative.
func (db *airline) update(r *reservation, means string, price int) {
	m := member(db.Users.found(r.User, "user "+r.User).PaymentMethods, means, "payment method")
	switch {
	case m.Source == certificate:
		refuse("a certificate cannot pay for a change")
	case !m.covers(price):
		refuse("the balance of the gift card is not enough")
	case m.Source == giftCard:
		*m.Amount -= float64(price)
	}
	if price != 0 {
		r.Payments = append(r.Payments, payment{means, price})
	}
}

func (db *airline) bags(in struct {
	ofReservation
	Bags     int    `json:"total_baggages"`
	PaidBags int    `json:"nonfree_baggages"`
	Payment  string `json:"payment_id"`
}) *reservation {
	r := db.Reservations.found(in.Reservation, "reservation "+in.Reservation)
	db.update(r, in.Payment, bagFee*max(0, in.PaidBags-r.PaidBags))
	r.Bags, r.PaidBags = in.Bags, in.PaidBags
	return r
}

// reroute changes flights and cabin. A flight that stays, in the same cabin, keeps its price; seats do not change.
func (db *airline) reroute(in struct {
	ofReservation
	Cabin   cabin  `json:"cabin"`
	Flights []leg  `json:"flights"`
	Payment string `json:"payment_id"`
}) *reservation {
	r := db.Reservations.found(in.Reservation, "reservation "+in.Reservation)
	price := 0
	flights := []reservedLeg{}
	for _, l := range in.Flights {
		same := slices.IndexFunc(r.Flights, func(had reservedLeg) bool {
			return had.Number == l.Number && had.Date == l.Date && in.Cabin == r.Cabin
		})
		var reserved reservedLeg
		if same >= 0 {
			reserved = r.Flights[same]
		} else {
			reserved, _ = db.free(l, in.Cabin, len(r.Passengers))
		}
		flights = append(flights, reserved)
		price += reserved.Price
	}
	for _, had := range r.Flights {
		price -= had.Price
	}
	db.update(r, in.Payment, price*len(r.Passengers))
	r.Flights, r.Cabin = flights, in.Cabin
	return r
}

func (db *airline) give(in struct {
	User   string `json:"user_id"`
	Amount int    `json:"amount"`
}) string {
	u := db.Users.found(in.User, "user "+in.User)
	for _, id := range newCertificate {
		if u.PaymentMethods[id] == nil {
			amount := float64(in.Amount)
			u.PaymentMethods[id] = &flyerMeans{Source: certificate, ID: id, Amount: &amount}
			return fmt.Sprintf("Certificate %s over %d was added to user %s.", id, in.Amount, in.User)
		}
	}
	refuse("too many certificates")
	return ""
}
