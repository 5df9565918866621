package config

import (
	"time"

	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// evaluation is the key "evaluation" of a file.
type evaluation struct {
	// The profile of codemode_eval. Without it codemode_eval is unrestricted.
	DefaultProfile strictjson.Value `key:"defaultProfile" form:"name"`
	Floor          strictjson.Value `key:"floor" form:"name"` // The profile that binds every other one and codemode_eval.
	// What is listed: names of profiles, and codemode_eval. Without it everything is.
	Exposed  strictjson.Value `key:"expose" schema:"{'$ref': '#names'}"`
	Profiles writtenProfiles  `key:"profiles"` // Each profile is a tool of its own, codemode_eval_<name>.
	// Every program must have been checked (codemode_check) before it runs.
	RequirePreflight bool `key:"requirePreflight"`
	// How long a check counts, at most 24h. 10m if left out.
	PreflightLifetime time.Duration `key:"preflightLifetime" max:"24h"`
	// Where people change this configuration, for the links that checks give.
	AdminURL string `key:"adminURL" form:"link"`
	// How long a call of a tool that runs programs takes at most, for clients that end longer ones: a run that is not over
	// then goes on, and codemode_collect waits for its result. If left out 50s, and longer for clients that are known to wait.
	ReturnAfter time.Duration `key:"returnAfter" max:"24h"`
	// What the tools that run programs say of themselves: what their profile can do at most, or, if strict, that they may
	// destroy and reach anything.
	Annotations string `key:"annotations" words:"derived strict" usual:"derived"`
	// What clients see of a profile: one tool that runs programs; search_tools and call_tool; or the tools of its servers
	// themselves. auto is programs, and for clients that run programs themselves tools, or search where they are many.
	Surface string `key:"surface" words:"auto programs search tools" usual:"auto"`
	// What narrows single sessions, callers or programs, whatever their profile allows.
	Overlays strictjson.Value `key:"overlays" schema:"{'type': 'array', 'items': {'$ref': '#overlay'}}"`
}

// writtenProfiles are the profiles of a file, which the builder reads.
type writtenProfiles struct{ strictjson.Value }

// ReadKey notes the value of the key.
func (p *writtenProfiles) ReadKey(_ *settings.Reader, n strictjson.Value, _ string, _ *settings.Spec) {
	p.Value = n
}

// Schema is its JSON Schema.
func (writtenProfiles) Schema() string {
	return `{"type": "object", "propertyNames": {"$ref": "#/$defs/profileName"},
		"additionalProperties": {"$ref": "#/$defs/profile"}}`
}
