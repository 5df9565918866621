// Package notifications reads the key "notifications" of the configuration: where people are told that a question of a
// program waits for them. Package notify sends the messages.
package notifications
