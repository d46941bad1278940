package objects

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/robfig/cron/v3"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/pathcheck/verdict"
)

// ErrNoExternalURL reports that the policy may allow a check as soon as the Echo has an external URL.
var ErrNoExternalURL = errors.New("the Echo has no external URL yet")

// AllowsPathCheck returns an *InvalidSpecError if a check is invalid, or if the policy does not allow it, or ErrNoExternalURL. If all URLs
// were allowed, anyone who can create an Echo could use its checks to find out which addresses respond.
func (p Policy) AllowsPathCheck(echo *v1.Echo, check *v1.EchoCheck, images Images) error {
	const advice = "Remove the field, or ask an administrator to set the operator's CHECK_URLS to any."
	field, err := validateCheck(check, CheckURL(echo, check))
	switch {
	case images.PathCheck == "":
		return &InvalidSpecError{
			Message: "The operator has no image for checks",
			Advice:  "Ask an administrator to set the operator's RELATED_IMAGE_PATHCHECK."}
	case err != nil:
		return &InvalidSpecError{
			Message: fmt.Sprintf("The field spec.checks[%s].%s is not valid", check.Name, field), Quote: err.Error(), Advice: "Correct the field."}
	case p.AnyCheckURL:
		return nil
	case check.Address != "":
		return &InvalidSpecError{
			Message: fmt.Sprintf("The operator does not allow the field spec.checks[%s].address", check.Name), Advice: advice}
	case check.URL == "" || isBelow(check.URL, echo.Status.ExternalURL) || isBelow(check.URL, URL(echo)):
		return nil
	case echo.Status.ExternalURL == "" && (ingressURL(echo) != "" || HasGateway(echo) ||
		echo.Spec.Service.Type == corev1.ServiceTypeLoadBalancer):
		return ErrNoExternalURL
	default:
		return &InvalidSpecError{
			Message: fmt.Sprintf("In the field spec.checks[%s].url, the operator allows only the URLs of the Echo", check.Name), Advice: advice}
	}
}

// schedule matches five fields or a macro. It matches no time zone, which Kubernetes rejects, and which can make the cron library panic.
var schedule = regexp.MustCompile(`^(@(yearly|annually|monthly|weekly|daily|midnight|hourly)|[^ \t@=]+([ \t]+[^ \t@=]+){4})$`)

// validateCheck returns the name of a field that Kubernetes or pathcheck would reject, and the reason. The schema does not contain these
// rules, so that they can be relaxed.
func validateCheck(check *v1.EchoCheck, url string) (field string, err error) {
	if !schedule.MatchString(check.Schedule) {
		return "schedule", errors.New("it must have five fields (minute, hour, day of month, month, day of week), or be @hourly, @daily, " +
			"@weekly, @monthly, or @yearly")
	}
	if _, err := cron.ParseStandard(check.Schedule); err != nil { // Kubernetes also uses this library
		return "schedule", err
	}
	if _, err := verdict.ParseURL(url); err != nil && url != "" {
		return "url", err
	}
	if _, err := verdict.ParseAddress(check.Address, "80"); err != nil && check.Address != "" {
		return "address", err
	}
	for _, name := range check.Groups {
		if known := knownGroups(); !slices.Contains(known, name) {
			return "groups", fmt.Errorf("the group %s is unknown; the known groups are %s", name, strings.Join(known, ", "))
		}
	}
	for i, each := range check.Expect {
		e := verdict.Expectation(each)
		if err := cmp.Or(e.Validate(), e.Exists()); err != nil {
			return fmt.Sprintf("expect[%d]", i), err
		}
	}
	return "", nil
}

// isBelow reports whether a valid URL, which has neither dot segments nor escapes, is equal to another URL, or below that URL's path.
func isBelow(text, base string) bool {
	url, err := verdict.ParseURL(text) // Ingresses and routes have only ASCII names
	return err == nil && base != "" && strings.HasPrefix(url.String()+"/", strings.TrimSuffix(base, "/")+"/")
}
