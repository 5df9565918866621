package discovery

import (
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"
)

// airline is the database of an airline.
type airline struct {
	Flights      table[flight]      `json:"flights"`
	Users        table[flyer]       `json:"users"`
	Reservations table[reservation] `json:"reservations"`
}

func (db *airline) tables() map[string]records {
	return map[string]records{"flights": &db.Flights, "users": &db.Users, "reservations": &db.Reservations}
}

// Words that are one of a few.
type (
	cabin      string
	tripType   string
	insurance  string
	membership string
)

// choices are the schemas of the types that are one of a few words.
var choices = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[cabin]():      {Type: "string", Enum: []any{"business", "economy", "basic_economy"}},
	reflect.TypeFor[tripType]():   {Type: "string", Enum: []any{"round_trip", "one_way"}},
	reflect.TypeFor[insurance]():  {Type: "string", Enum: []any{"yes", "no"}},
	reflect.TypeFor[membership](): {Type: "string", Enum: []any{"gold", "silver", "regular"}},
}

type flight struct {
	Number      string             `json:"flight_number"`
	Origin      string             `json:"origin"`
	Destination string             `json:"destination"`
	Departure   string             `json:"scheduled_departure_time_est"`
	Arrival     string             `json:"scheduled_arrival_time_est"`
	Dates       map[string]*onDate `json:"dates"`
}

// onDate is a flight on one day. Seats and prices are those of a flight that can be booked.
type onDate struct {
	Status             string        `json:"status"`
	Seats              map[cabin]int `json:"available_seats,omitempty"`
	Prices             map[cabin]int `json:"prices,omitempty"`
	EstimatedDeparture string        `json:"estimated_departure_time_est,omitempty"`
	EstimatedArrival   string        `json:"estimated_arrival_time_est,omitempty"`
	ActualDeparture    string        `json:"actual_departure_time_est,omitempty"`
	ActualArrival      string        `json:"actual_arrival_time_est,omitempty"`
}

const available = "available" // the status of a flight that can be booked

// direct is a flight that a search found.
type direct struct {
	Number      string        `json:"flight_number"`
	Origin      string        `json:"origin"`
	Destination string        `json:"destination"`
	Status      string        `json:"status"`
	Departure   string        `json:"scheduled_departure_time_est"`
	Arrival     string        `json:"scheduled_arrival_time_est"`
	Date        string        `json:"date,omitempty"`
	Seats       map[cabin]int `json:"available_seats"`
	Prices      map[cabin]int `json:"prices"`
}

type flyer struct {
	ID             string                 `json:"user_id"`
	Name           name                   `json:"name"`
	Address        address                `json:"address"`
	Email          string                 `json:"email"`
	Born           string                 `json:"dob"`
	PaymentMethods map[string]*flyerMeans `json:"payment_methods"`
	Saved          []passenger            `json:"saved_passengers"`
	Membership     membership             `json:"membership"`
	Reservations   []string               `json:"reservations"`
}

// flyerMeans is a credit card, a gift card or a certificate. A credit card has no amount.
type flyerMeans struct {
	Source   string   `json:"source"`
	ID       string   `json:"id"`
	Brand    string   `json:"brand,omitempty"`
	LastFour string   `json:"last_four,omitempty"`
	Amount   *float64 `json:"amount,omitempty"`
}

const certificate = "certificate"

// covers reports whether a payment is possible.
func (m *flyerMeans) covers(amount int) bool { return m.Amount == nil || *m.Amount >= float64(amount) }

type passenger struct {
	First string `json:"first_name"`
	Last  string `json:"last_name"`
	Born  string `json:"dob"`
}

type payment struct {
	ID     string `json:"payment_id"`
	Amount int    `json:"amount"`
}

type leg struct {
	Number string `json:"flight_number"`
	Date   string `json:"date"`
}

type reservation struct {
	ID          string        `json:"reservation_id"`
	User        string        `json:"user_id"`
	Origin      string        `json:"origin"`
	Destination string        `json:"destination"`
	Type        tripType      `json:"flight_type"`
	Cabin       cabin         `json:"cabin"`
	Flights     []reservedLeg `json:"flights"`
	Passengers  []passenger   `json:"passengers"`
	Payments    []payment     `json:"payment_history"`
	Created     string        `json:"created_at"`
	Bags        int           `json:"total_baggages"`
	PaidBags    int           `json:"nonfree_baggages"`
	Insurance   insurance     `json:"insurance"`
	Status      string        `json:"status,omitempty"`
}

type reservedLeg struct {
	Number      string `json:"flight_number"`
	Origin      string `json:"origin"`
	Destination string `json:"destination"`
	Date        string `json:"date"`
	Price       int    `json:"price"`
}
