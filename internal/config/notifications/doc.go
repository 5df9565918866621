// Package notifications reads the key "notifications" of the configuration: where people are told that a question of a
// program waits for them.
//
//	"notifications": {
//	  "page": "https://codemode.example/console",
//	  "destinations": {
//	    "team":  { "slack": "${SLACK_WEBHOOK}", "profiles": ["deploy"], "risk": "high" },
//	    "phone": { "ntfy": "https://ntfy.sh/our-topic", "token": "${cmd:pass show ntfy}", "delay": "30s" },
//	    "pager": { "webhook": "https://pager.example/in", "secret": "${file:/run/secrets/pager}" },
//	    "mail":  { "smtp": "smtp://mail.example:587", "user": "codemode", "password": "${MAIL_PASSWORD}",
//	               "from": "codemode@example.com", "to": ["anna@example.com"] } } }
//
// Package notify sends the messages.
package notifications
