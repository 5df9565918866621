package discovery

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The checkout of the tests has data and words of our own, in the layout of tau2-bench.
const checkout = "testdata/checkout"

func openTest(t *testing.T, name string) *Domain {
	t.Helper()
	d, err := Open(checkout, name)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// made is the text of a call's result; failures begin with "error: ".
func made(t *testing.T, d *Domain, tool, args string) string {
	t.Helper()
	of := d.tool(tool)
	if of == nil {
		t.Fatalf("there is no tool %s", tool)
	}
	r := d.serve(of, json.RawMessage(args))
	text := r.Content[0].(*mcp.TextContent).Text
	if r.IsError {
		return "error: " + text
	}
	return text
}

// Each row makes its calls on a database as it was at first. The last answer has the first text, and the changes of the
// database have the others.
func TestWhatToolsDoToTheDatabase(t *testing.T) {
	type c struct{ tool, args string }
	for _, row := range []struct {
		why, domain string
		calls       []c
		answer      string
		changes     []string // none: nothing changes
	}{
		{"a search finds a customer whatever the case", "retail",
			[]c{{"find_user_id_by_email", `{"email": "ADA@example.com"}`}}, "ada_1", nil},
		{"a customer by name and zip code", "retail",
			[]c{{"find_user_id_by_name_zip", `{"first_name": "ada", "last_name": "FIELD", "zip": "80014"}`}}, "ada_1", nil},
		{"a read changes nothing", "retail", []c{{"get_order_details", `{"order_id": "#A1"}`}}, `"status":"delivered"`, nil},
		{"a refund goes to the gift card at once", "retail",
			[]c{{"cancel_pending_order", `{"order_id": "#A2", "reason": "no longer needed"}`}}, `"status":"cancelled"`,
			[]string{`"transaction_type":"refund","amount":5`, `"balance":45`}},
		{"only two reasons cancel", "retail",
			[]c{{"cancel_pending_order", `{"order_id": "#A2", "reason": "too slow"}`}}, "error: invalid reason", nil},
		{"what arrived cannot be cancelled", "retail",
			[]c{{"cancel_pending_order", `{"order_id": "#A1", "reason": "no longer needed"}`}}, "error: only an order", nil},
		{"an exchange costs the difference", "retail",
			[]c{{"exchange_delivered_order_items", `{"order_id": "#A1", "item_ids": ["i11"], "new_item_ids": ["i12"],
				"payment_method_id": "gift_card_1"}`}}, `"exchange_price_difference":2.3`, []string{"exchange requested"}},
		{"nothing is exchanged for what is sold out", "retail",
			[]c{{"exchange_delivered_order_items", `{"order_id": "#A1", "item_ids": ["i11"], "new_item_ids": ["i13"],
				"payment_method_id": "gift_card_1"}`}}, "error: new item i13 is not available", nil},
		{"one cup cannot be returned twice", "retail",
			[]c{{"return_delivered_order_items", `{"order_id": "#A1", "item_ids": ["i21", "i21"],
				"payment_method_id": "credit_card_2"}`}}, "error: item not found", nil},
		{"a return", "retail", []c{{"return_delivered_order_items",
			`{"order_id": "#A1", "item_ids": ["i21"], "payment_method_id": "credit_card_2"}`}},
			`"return_items":["i21"]`, []string{"return requested"}},
		{"other things in an order", "retail", []c{{"modify_pending_order_items", `{"order_id": "#A2", "item_ids": ["i21"],
			"new_item_ids": ["i22"], "payment_method_id": "gift_card_1"}`}}, `"status":"pending (item modified)"`,
			[]string{`"amount":1.5`, `"balance":38.5`}},
		{"items change once", "retail", []c{{"modify_pending_order_items", `{"order_id": "#A2", "item_ids": ["i21"],
			"new_item_ids": ["i22"], "payment_method_id": "gift_card_1"}`}, {"modify_pending_order_items",
			`{"order_id": "#A2", "item_ids": ["i22"], "new_item_ids": ["i21"], "payment_method_id": "gift_card_1"}`}},
			"error: only an order that is pending", []string{"item modified"}},
		{"another payer", "retail",
			[]c{{"modify_pending_order_payment", `{"order_id": "#A2", "payment_method_id": "credit_card_2"}`}},
			`"payment_method_id":"credit_card_2"`, []string{`"balance":45`}},
		{"another address of an order", "retail", []c{{"modify_pending_order_address", `{"order_id": "#A2",
			"address1": "x", "address2": "", "city": "y", "state": "z", "country": "USA", "zip": "1"}`}}, `"city":"y"`,
			[]string{`orders #A2`}},
		{"another address of a customer", "retail", []c{{"modify_user_address", `{"user_id": "ada_1",
			"address1": "x", "address2": "", "city": "y", "state": "z", "country": "USA", "zip": "1"}`}}, `"city":"y"`,
			[]string{`users ada_1`}},
		{"unknown arguments are refused", "retail", []c{{"get_order_details", `{"order": "#A1"}`}},
			"error: the arguments do not fit", nil},
		{"a sum", "retail", []c{{"calculate", `{"expression": "(1.5 + 2) * 2 - 1/4"}`}}, "6.75", nil},
		{"a whole number has a point", "retail", []c{{"calculate", `{"expression": "-(4)"}`}}, "-4.0", nil},
		{"not a sum", "retail", []c{{"calculate", `{"expression": "2 +"}`}}, "error: invalid expression", nil},
		{"flights without a stop", "airline", []c{{"search_direct_flight",
			`{"origin": "SEA", "destination": "DEN", "date": "2024-05-20"}`}}, `[{"flight_number":"F001"`, nil},
		{"flights with a stop", "airline", []c{{"search_onestop_flight",
			`{"origin": "SEA", "destination": "BOS", "date": "2024-05-20"}`}}, `"date":"2024-05-20"`, nil},
		{"no flight", "airline", []c{{"search_direct_flight",
			`{"origin": "SEA", "destination": "DEN", "date": "2024-05-21"}`}}, `[]`, nil},
		{"a flight that does not fly", "airline", []c{{"get_flight_status",
			`{"flight_number": "F002", "date": "2024-05-21"}`}}, "cancelled", nil},
		{"a booking takes seats and uses a certificate up", "airline", []c{{"book_reservation", `{"user_id": "max_7",
			"origin": "DEN", "destination": "BOS", "flight_type": "one_way", "cabin": "economy",
			"flights": [{"flight_number": "F002", "date": "2024-05-20"}],
			"passengers": [{"first_name": "Max", "last_name": "Moor", "dob": "1980-01-02"}],
			"payment_methods": [{"payment_id": "certificate_9", "amount": 100}, {"payment_id": "gift_card_8", "amount": 80}],
			"total_baggages": 0, "nonfree_baggages": 0, "insurance": "yes"}`}}, `"reservation_id":"HATHAT"`,
			[]string{`"economy":2`, `"amount":120`, `"reservations":["R1","HATHAT"]`}},
		{"payments have to make the price", "airline", []c{{"book_reservation", `{"user_id": "max_7",
			"origin": "DEN", "destination": "BOS", "flight_type": "one_way", "cabin": "economy",
			"flights": [{"flight_number": "F002", "date": "2024-05-20"}],
			"passengers": [{"first_name": "Max", "last_name": "Moor", "dob": "1980-01-02"}],
			"payment_methods": [{"payment_id": "gift_card_8", "amount": 100}],
			"total_baggages": 0, "nonfree_baggages": 0, "insurance": "no"}`}}, "error: the payments make 100, the price is 150",
			nil},
		{"another cabin costs the difference", "airline", []c{{"update_reservation_flights", `{"reservation_id": "R1",
			"cabin": "business", "flights": [{"flight_number": "F001", "date": "2024-05-20"}],
			"payment_id": "credit_card_7"}`}}, `"amount":280`, []string{`"cabin":"business"`}},
		{"a certificate pays no change", "airline", []c{{"update_reservation_baggages", `{"reservation_id": "R1",
			"total_baggages": 1, "nonfree_baggages": 1, "payment_id": "certificate_9"}`}}, "error: a certificate", nil},
		{"a bag", "airline", []c{{"update_reservation_baggages", `{"reservation_id": "R1", "total_baggages": 1,
			"nonfree_baggages": 1, "payment_id": "gift_card_8"}`}}, `"nonfree_baggages":1`, []string{`"amount":150`}},
		{"a cancelled reservation is paid back", "airline", []c{{"cancel_reservation", `{"reservation_id": "R1"}`}},
			`"amount":-120`, []string{`"status":"cancelled"`}},
		{"as many passengers as before", "airline", []c{{"update_reservation_passengers",
			`{"reservation_id": "R1", "passengers": []}`}}, "error: the number of passengers", nil},
		{"a certificate", "airline", []c{{"send_certificate", `{"user_id": "max_7", "amount": 50}`}}, "certificate_3221322",
			[]string{`"amount":50`}},
	} {
		t.Run(row.why, func(t *testing.T) {
			d := openTest(t, row.domain)
			var answer string
			for _, c := range row.calls {
				answer = made(t, d, c.tool, c.args)
			}
			if !strings.Contains(answer, row.answer) {
				t.Errorf("the answer is %s, want %s", answer, row.answer)
			}
			changes := d.changes()
			if (changes == "") != (row.changes == nil) {
				t.Errorf("the database changed:\n%s", changes)
			}
			for _, want := range row.changes {
				if !strings.Contains(changes, want) {
					t.Errorf("no %s in the changes:\n%s", want, changes)
				}
			}
			d.reset()
			if changes := d.changes(); changes != "" {
				t.Errorf("after a reset there are changes:\n%s", changes)
			}
		})
	}
}

func TestToolsHaveTheWordsOfTheData(t *testing.T) {
	d := openTest(t, "retail")
	cancel := d.tool("cancel_pending_order")
	want := "Cancels an order that was not sent yet.\nThe money goes back to where it came from."
	if cancel.Description != want {
		t.Errorf("got %q, want %q", cancel.Description, want)
	}
	schema := d.tool("exchange_delivered_order_items").input()
	want = "The things to get for them, in the same order."
	if got := schema.Properties["new_item_ids"].Description; got != want {
		t.Errorf("an argument over two lines: got %q, want %q", got, want)
	}
	if !cancel.writes || d.tool("get_order_details").writes {
		t.Error("the wrong tools write")
	}
}

func TestTasksAreRead(t *testing.T) {
	d := openTest(t, "retail")
	if len(d.tasks) != 4 {
		t.Fatalf("%d tasks, want 4", len(d.tasks))
	}
	task := d.tasks[1]
	if len(task.Actions) != 4 || !task.Told || !strings.Contains(task.Says, "You are ada_1.") || d.tasks[0].Told {
		t.Errorf("got %+v", task)
	}
}

func TestWhatIsWrongWithACheckout(t *testing.T) {
	if _, err := Open(t.TempDir(), "retail"); err == nil || !strings.Contains(err.Error(), "db.json") {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err := Open(checkout, "telecom"); err == nil {
		t.Error("a domain that is not implemented opens")
	}
}
