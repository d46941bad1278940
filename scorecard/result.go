package main

// status is the output that scorecard parses: TestStatus of its API.
type status struct {
	Results []result `json:"results"`
}

type result struct {
	Name   string   `json:"name"`
	State  string   `json:"state"`
	Log    string   `json:"log,omitempty"`
	Errors []string `json:"errors,omitempty"`
}

// resultOf returns the result of a test with the problems that it found, and the error if it could not be completed.
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
