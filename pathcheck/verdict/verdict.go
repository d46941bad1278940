// Package verdict defines what the operator and pathcheck exchange: the expectations and the target that a check gives to a run, and the
// result that the run reports. The operator rejects the checks that pathcheck would reject.
//
// The check's container writes the result as its termination message, and therefore needs neither permissions nor a network path to the
// operator. The operator trusts nothing in a verdict, because any pod can write one.
package verdict

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
)

const (
	// maxSize is the maximum size, in bytes, of a verdict: the kubelet keeps the last 4,096 bytes of a termination message.
	maxSize = 4000
	// maxRead is the maximum size, in bytes, of a termination message that Decode reads.
	maxRead = 4096
	// MaxName and MaxText are the maximum lengths, in bytes, of a fact's name and of other strings.
	MaxName, MaxText = 128, 200
)

// Verdict is a check run's result. It contains no latencies, identifiers, or addresses from DNS, so that a path's verdicts are equal.
type Verdict struct {
	// Problem is the reason why no Echo has responded. If Problem is set, there are no facts.
	Problem string `json:"problem,omitempty"`
	// Silent names the part of the path that gave no response at all. It is empty if the URL gave a response, or if DNS returned an error.
	Silent Silence `json:"silent,omitempty"`
	// Address is the host and port to which the URL leads, or the host and port of the forward proxy. It is set if Silent is set.
	Address string `json:"address,omitempty"`
	// Facts is the number of facts that were found.
	Facts int `json:"facts"`
	// Failed holds the expectations that are not met.
	Failed []Unmet `json:"failed,omitempty"`
	// Unknown holds the expectations that the run could neither meet nor fail.
	Unknown []Unknown `json:"unknown,omitempty"`
	// Unfinished is why the run did not examine everything, such as DeadlinePassed. It is set only if another run may examine the rest.
	Unfinished string `json:"unfinished,omitempty"`
}

// Silence names the part of the path that gave no response at all, not even an error or a refused connection.
type Silence string

const (
	// SilentURL means that the URL was silent, but the Echo's own Service responded or was not tried.
	SilentURL Silence = "url"
	// SilentAll means that both the URL and the Echo's own Service were silent.
	SilentAll Silence = "all"
	// SilentResolver means that the DNS resolver was silent.
	SilentResolver Silence = "resolver"
)

// Unmet is an expectation that is not met.
type Unmet struct {
	Name string `json:"name"`
	Want string `json:"want"`
	Got  string `json:"got"`
}

// Unknown is an expectation whose fact is unknown.
type Unknown struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// DeadlinePassed is the value of Unfinished if the run did not examine everything before its deadline.
const DeadlinePassed = "the deadline of the run has passed"

// Encode returns a verdict as JSON of at most 4,000 bytes. To shorten it, Encode drops expectations from the ends of the lists, first the
// unknown ones. One of them always fits.
func (v Verdict) Encode() []byte {
	for {
		data, err := json.Marshal(v)
		switch {
		case err == nil && len(data) <= maxSize || len(v.Failed)+len(v.Unknown) == 0:
			return data
		case len(v.Unknown) > 0:
			v.Unknown = v.Unknown[:len(v.Unknown)-1]
		default:
			v.Failed = v.Failed[:len(v.Failed)-1]
		}
	}
}

var (
	printable = regexp.MustCompile(`^[ -~]*$`)
	// address matches strings without spaces or quotation marks, so that an address cannot be mistaken for a sentence in a message.
	address = regexp.MustCompile(`^[!#-&(-~]+$`)
)

// Decode reads a verdict from a termination message. If the verdict is invalid, the error explains why.
func Decode(message string) (Verdict, error) {
	var v Verdict
	if len(message) > maxRead {
		return v, fmt.Errorf("it has more than %d bytes", maxRead)
	}
	if err := json.Unmarshal([]byte(message), &v); err != nil {
		return v, errors.New("it is not a verdict in JSON")
	}
	if v.Facts < 1 && v.Problem == "" && v.Unfinished == "" && len(v.Unknown) == 0 {
		return v, errors.New("it has no facts")
	}
	texts := []string{v.Problem, v.Unfinished, v.Address}
	var names []string
	for _, each := range v.Failed {
		names, texts = append(names, each.Name), append(texts, each.Want, each.Got)
	}
	for _, each := range v.Unknown {
		names, texts = append(names, each.Name), append(texts, each.Reason)
	}
	switch {
	case slices.ContainsFunc(names, func(name string) bool { return !isFact(name) }):
		return v, errors.New("it has a fact whose name is not valid")
	case slices.ContainsFunc(texts, func(text string) bool { return len(text) > MaxText || !printable.MatchString(text) }):
		return v, errors.New("it contains text that is too long or not printable")
	case v.Silent == "":
		return v, nil
	case !slices.Contains([]Silence{SilentURL, SilentAll, SilentResolver}, v.Silent) || v.Problem == "":
		return v, errors.New("it names an invalid silent part of the path")
	case !address.MatchString(v.Address):
		return v, errors.New("it has an address that is not valid")
	}
	return v, nil
}
