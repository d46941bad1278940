package probe

import (
	"net"
	"slices"
	"strings"

	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// report describes a part of the URL that proxies report: the scheme, the host, or the port.
type report struct {
	fact, by  string
	want      []string
	headers   []string // the first of these that a request contains is used
	parameter string   // in Forwarded
}

func reports(t *wire.Target) []report {
	_, port, err := net.SplitHostPort(t.Host)
	if err != nil {
		port = map[string]string{"http": "80", "https": "443"}[t.Scheme]
	}
	secure := map[string]string{"http": "off", "https": "on"}[t.Scheme]
	return []report{
		{"client.proto", "client.proto.by",
			[]string{t.Scheme, secure}, []string{"X-Forwarded-Proto", "Forwarded", "X-Forwarded-Scheme", "X-Forwarded-Protocol", "X-Scheme",
				"X-Url-Scheme", "Cloudfront-Forwarded-Proto", "X-Forwarded-Ssl", "Front-End-Https"}, "proto"},
		{"client.host", "",
			[]string{t.Host, t.Name}, []string{"X-Forwarded-Host", "Forwarded", "X-Original-Host"}, "host"},
		{"client.port", "",
			[]string{port}, []string{"X-Forwarded-Port"}, ""},
	}
}

// decideReported determines whether proxies report the client's URL correctly.
func decideReported(t *wire.Target, e *wire.Description) (facts []Fact) {
	for _, each := range reports(t) {
		value, by, received := each.decide(e)
		f := NewFact(each.fact, value, each.want[0], received)
		if each.by == "" {
			f = Detail(f)
		}
		facts = append(facts, f)
		if each.by != "" {
			facts = append(facts, Detail(NewFact(each.by, by, each.want[0], received)))
		}
	}
	return facts
}

func (r *report) decide(e *wire.Description) (value, by, received string) {
	for _, name := range r.headers {
		values := e.Reported(name, r.parameter)
		if len(values) == 0 {
			continue
		}
		received = name + ": " + strings.Join(e.Values(name), "; ")
		isRight := func(value string) bool {
			return slices.ContainsFunc(r.want, func(want string) bool { return strings.EqualFold(want, value) })
		}
		switch {
		case len(values) > 1 && name != "Forwarded": // Forwarded is a list by design
			return "list", name, received
		case slices.ContainsFunc(values, isRight):
			return "reported", name, received
		}
		return "wrong", name, received
	}
	return "not reported", None, ""
}
