package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// maxDelay is the longest that an answer may be held back.
const maxDelay = 30 * time.Second

// response is what the server answers by default, instead of a 200 with the echo at once.
type response struct {
	status  int // 0: 200
	delay   time.Duration
	headers []header
	body    string // empty: the echo
}

type header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// parseResponse reads the default answer from the environment. Its errors name the variable and what would be right.
func parseResponse(getenv func(string) string) (response, error) {
	r := response{body: getenv("ECHO_RESPONSE_BODY")}
	if text := getenv("ECHO_RESPONSE_STATUS"); text != "" {
		status, err := strconv.Atoi(text)
		if err != nil || status < 200 || status > 599 {
			return r, fmt.Errorf("ECHO_RESPONSE_STATUS: %q is not a whole number from 200 to 599", text)
		}
		r.status = status
	}
	if text := getenv("ECHO_RESPONSE_DELAY"); text != "" {
		delay, err := time.ParseDuration(text)
		if err != nil || delay < 0 || delay > maxDelay {
			return r, fmt.Errorf("ECHO_RESPONSE_DELAY: %q is not a duration from 0s to %s", text, maxDelay)
		}
		r.delay = delay
	}
	if text := getenv("ECHO_RESPONSE_HEADERS"); text != "" {
		if err := json.Unmarshal([]byte(text), &r.headers); err != nil {
			return r, fmt.Errorf(`ECHO_RESPONSE_HEADERS: not a list such as [{"name": "X-A", "value": "b"}]: %w`, err)
		}
	}
	return r, nil
}

// begin holds the answer back and writes its headers and status, which it returns. It returns false when the client is gone.
func (r *response) begin(w http.ResponseWriter, request *http.Request) (int, bool) {
	if r.delay > 0 {
		select {
		case <-time.After(r.delay):
		case <-request.Context().Done():
			return 0, false
		}
	}
	w.Header().Set("Content-Type", "application/json")
	if r.body != "" {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	}
	for _, h := range r.headers {
		w.Header().Set(h.Name, h.Value)
	}
	status := r.status
	if status == 0 {
		status = http.StatusOK
	}
	w.WriteHeader(status)
	return status, true
}
