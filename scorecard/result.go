package main

// status is what scorecard reads: its API's TestStatus.
type status struct {
	Results []result `json:"results"`
}

type result struct {
	Name   string   `json:"name"`
	State  string   `json:"state"`
	Log    string   `json:"log,omitempty"`
	Errors []string `json:"errors,omitempty"`
}

// resultOf is the result of a test that found problems, or could not come to an end.
func resultOf(name string, problems []string, err error, log string) result {
	r := result{Name: name, State: "pass", Log: log, Errors: problems}
	if len(problems) > 0 {
		r.State = "fail"
	}
	if err != nil {
		r.State, r.Errors = "error", append(r.Errors, err.Error())
	}
	return r
}
