package fact

import (
	"strconv"
)

// RefusedByCache means that a cache responded with the Echo's response to an earlier request.
const RefusedByCache = "cached"

// Refused returns the fact for a request that a proxy refuses. If refusal is empty, the fact reports that the response does not describe
// the request.
func Refused(name, sent, refusal string) Fact {
	if refusal == "" { // the Echo responded
		return New(name, "not reported", sent, "a response that does not describe the request")
	}
	return New(name, "refused "+refusal, sent, "nothing: "+DescribeRefusal(refusal))
}

func DescribeRefusal(refusal string) string {
	if _, err := strconv.Atoi(refusal); err == nil {
		return "a proxy responds with " + refusal + " itself"
	}
	if refusal == RefusedByCache {
		return "a proxy responds with an earlier response from the Echo"
	}
	return "a proxy does not respond (" + refusal + ")"
}
