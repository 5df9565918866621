package profiles

import "github.com/codemode-project/codemode/call"

// Explained is an [Explanation] as JSON.
type Explained struct {
	Profile    string            `json:"profile"`
	Tool       string            `json:"tool"`
	Verdict    string            `json:"verdict"`
	Code       string            `json:"code,omitempty"`
	Risk       string            `json:"risk,omitempty"`
	Unknown    bool              `json:"unknown,omitempty"`
	Reasons    []explainedReason `json:"reasons"`
	Considered []explainedReason `json:"considered"`
	Changes    []string          `json:"changes,omitempty"`
}

type explainedReason struct {
	Rule       string               `json:"rule,omitempty"`
	List       string               `json:"list"`
	At         string               `json:"at,omitempty"`
	Profile    string               `json:"profile,omitempty"`
	Layer      string               `json:"layer,omitempty"`
	Result     string               `json:"result"`
	Text       string               `json:"text"`
	Conditions []explainedCondition `json:"conditions,omitempty"`
}

type explainedCondition struct {
	Pointer string `json:"pointer,omitempty"`
	Result  string `json:"result"`
	Text    string `json:"text"`
}

// Explained converts the explanation of a call of a tool under a profile.
func (x *Explanation) Explained(profile, tool string) Explained {
	reasons := func(all []call.Reason) []explainedReason {
		out := []explainedReason{}
		for _, r := range all {
			one := explainedReason{r.Rule, r.List, r.Pos.String(), r.Profile, r.Layer, r.Result, r.Text, nil}
			for _, o := range r.Conditions {
				one.Conditions = append(one.Conditions, explainedCondition(o))
			}
			out = append(out, one)
		}
		return out
	}
	return Explained{
		profile, tool, x.Decision.Verdict.String(), x.Decision.Code, string(x.Decision.Risk), x.Decision.Unknown,
		reasons(x.Decision.Reasons), reasons(x.Considered), x.Changes,
	}
}
