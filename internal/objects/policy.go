package objects

import (
	"fmt"
	"strings"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// Policy holds the limits that the operator's administrator sets.
type Policy struct {
	// MaxReplicas is the maximum allowed value of spec.replicas.
	MaxReplicas int32
	// PodSecurity is the standard that all pods must meet, including companions and check pods.
	PodSecurity PodSecurity
	// AnyCheckURL is true if checks may examine URLs other than the URLs of their Echo.
	AnyCheckURL bool
}

// Check returns an *InvalidSpecError if the policy does not allow an Echo or its desired children, or if fields conflict with each other.
func (p Policy) Check(echo *v1.Echo, desired ...Child) error {
	if echo.Spec.DesiredReplicas() > p.MaxReplicas {
		return &InvalidSpecError{
			Message: fmt.Sprintf("The field spec.replicas is %d, but the operator allows at most %d", echo.Spec.DesiredReplicas(), p.MaxReplicas),
			Advice:  "Lower spec.replicas, or ask an administrator to raise the operator's MAX_REPLICAS."}
	}
	if err := ValidateFields(echo); err != nil {
		return err
	}
	for _, c := range desired {
		if err := p.PodSecurity.Validate(c); err != nil {
			return err
		}
	}
	return nil
}

// AllowsPathCheck returns an *InvalidSpecError if the policy does not allow a check. If all URLs were allowed, anyone who can create an
// Echo could use its checks to find out which addresses respond.
func (p Policy) AllowsPathCheck(echo *v1.Echo, check *v1.EchoCheck, images Images) error {
	const advice = "Remove the field, or ask an administrator to set the operator's CHECK_URLS to any."
	switch {
	case images.PathCheck == "":
		return &InvalidSpecError{
			Message: "The operator has no image for checks",
			Advice:  "Ask an administrator to set the operator's RELATED_IMAGE_PATHCHECK."}
	case p.AnyCheckURL:
		return nil
	case check.Address != "":
		return &InvalidSpecError{
			Message: "The check sets the field address, which the operator does not allow", Advice: advice}
	case check.URL != "" && !isBelow(check.URL, echo.Status.ExternalURL) && !isBelow(check.URL, URL(echo)):
		return &InvalidSpecError{
			Message: fmt.Sprintf("The check's url field is %s, but the operator allows only the URLs of the Echo", check.URL), Advice: advice}
	}
	return nil
}

// isBelow reports whether a URL is equal to another URL, or below that URL's path. It returns false if the rest of the URL contains % or \,
// because gateways can interpret an escaped path segment as a dot segment.
func isBelow(url, base string) bool {
	if base == "" || url == base {
		return base != ""
	}
	base = strings.TrimSuffix(base, "/")
	return url == base || strings.HasPrefix(url, base+"/") && !strings.Contains(url+"/", "/../") && !strings.ContainsAny(url[len(base):], `%\`)
}
