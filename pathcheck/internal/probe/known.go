package probe

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// Known holds the properties of the Echo that the first requests have revealed.
type Known struct {
	Plain    *wire.Response // the response to a plain request
	Base     string         // the Echo's path as the Echo receives it
	Controls bool           // whether requests can control responses
	Full     bool           // whether requests can use all controls

	uncontrolled string // the reason why requests cannot control responses; empty if there is none or it is unknown
}

// PlainPath is the path of a plain request, relative to the Echo's path.
const PlainPath = "/pathcheck"

// Nothing is the requirement of a group that can always be tested.
func Nothing(*Known) string { return "" }

// Descriptions is the requirement of a group that needs responses to describe requests. It returns the reason why the group cannot be
// tested, or "".
func Descriptions(k *Known) string {
	a := k.Plain
	switch coding := a.Header.Get("Content-Encoding"); {
	case a.Description != nil:
		return ""
	case a.Size == 0:
		return fmt.Sprintf("the Echo's responses have no body (status %d)", a.Status)
	case coding != "":
		return "the Echo's responses arrive with Content-Encoding: " + Cut(Printable(coding), MaxText)
	}
	return fmt.Sprintf("the Echo's responses do not describe requests: they have a fixed body (spec.response.body), "+
		"or a proxy changes them (%d bytes, Content-Type: %s)", a.Size, Cut(Printable(a.Header.Get("Content-Type")), MaxText))
}

// Controls is the requirement of a group that must control responses. It returns the reason why the group cannot be tested, or "".
func Controls(k *Known) string { return k.uncontrolled }

// Meet sends the first request. It sends nothing more unless the response proves that it comes from the Echo.
func Meet(ctx context.Context, c *wire.Client) (*Known, error) {
	a, err := c.Do(ctx, &wire.Request{Path: PlainPath})
	switch {
	case err != nil:
		return nil, &noResponse{c.Dial, err}
	case !a.Proven:
		return nil, stranger(c, a)
	}
	c.Dial = a.Remote // other addresses from DNS might not lead to the Echo
	k := &Known{Plain: a}
	if a.Description != nil {
		k.Base = strings.TrimSuffix(a.Description.PathOnly(), PlainPath)
		for _, each := range c.Headers { // these headers come from this program, not from the path
			delete(a.Description.Headers, http.CanonicalHeaderKey(each.Name))
		}
	}
	k.findControls(ctx, c)
	return k, nil
}

// findControls determines whether requests can control responses.
func (k *Known) findControls(ctx context.Context, c *wire.Client) {
	const controls = PlainPath + "?echo.size=1&echo.status=200" // the Echo's own status may not allow a body
	controlled, err := c.Do(ctx, &wire.Request{Path: controls})
	if err != nil || !controlled.Proven {
		controlled, err = c.Do(ctx, &wire.Request{Path: controls}) // the failure may be transient
	}
	if Over(ctx, err) != nil {
		return // the groups report this
	}
	k.uncontrolled = k.whyNotControlled(controlled, err)
	if k.Controls = k.uncontrolled == ""; k.Controls {
		const name = "Pathcheck-Full" // a request can set this header only with spec.server.controls: Full
		full, err := c.Do(ctx, &wire.Request{Path: PlainPath + "?echo.set-header=" + name + ":1"})
		k.Full = err == nil && full.Proven && full.Header.Get(name) != ""
	}
}

// whyNotControlled returns the reason why a request for a body of one byte did not control the response, or "" if it did. A proxy may have
// removed one of the two signs.
func (k *Known) whyNotControlled(a *wire.Response, err error) string {
	const notForwarded = "a proxy does not forward requests with controls: "
	switch {
	case err != nil:
		return notForwarded + DescribeRefusal(wire.RefusalOf(err))
	case !a.Proven:
		return notForwarded + DescribeRefusal(a.Refusal())
	case a.Cached:
		return notForwarded + DescribeRefusal(RefusedByCache)
	case slices.Contains(strings.Split(a.Header.Get("X-Echo-Applied"), ", "), "size=1"), a.Size == 1 && k.Plain.Size != 1:
		return ""
	case a.Description == nil:
		return fmt.Sprintf("requests cannot control the Echo's responses (status %d), because of spec.server.controls: None or a proxy", a.Status)
	case !strings.Contains(a.Description.Path, "echo.size=1"):
		return "a proxy removes controls from the query"
	}
	return "requests cannot control the Echo's responses (spec.server.controls: None)"
}
