package run

import (
	"context"
	"net/http"
	"strings"

	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// Known holds the properties of the Echo that the first requests have revealed.
type Known struct {
	Plain    *wire.Response // the response to a plain request
	Base     string         // the Echo's path as the Echo receives it
	describe bool           // whether responses describe requests
	Controls bool           // whether requests can control responses
	Full     bool           // whether requests can use all controls
}

// PlainPath is the path of a plain request, relative to the Echo's path.
const PlainPath = "/pathcheck"

// Nothing is the requirement of a group that can always be tested.
func Nothing(*Known) string { return "" }

// Descriptions is the requirement of a group that needs responses to describe requests. It returns the reason why the group cannot be
// tested, or "".
func Descriptions(k *Known) string {
	if !k.describe {
		return "the Echo's responses do not describe requests, because they have a fixed body (spec.response.body)"
	}
	return ""
}

// Controls is the requirement of a group that must control responses. It returns the reason why the group cannot be tested, or "".
func Controls(k *Known) string {
	if !k.Controls {
		return "requests cannot control the Echo's responses (spec.server.controls: None)"
	}
	return ""
}

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
	k := &Known{Plain: a, describe: a.Description != nil}
	if k.describe {
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
	const controls = PlainPath + "?echo.size=1"
	controlled, err := c.Do(ctx, &wire.Request{Path: controls})
	if err != nil || !controlled.Proven {
		controlled, err = c.Do(ctx, &wire.Request{Path: controls}) // the failure may be transient
	}
	if err != nil || !controlled.Proven {
		return // the groups report that a proxy rejects the query
	}
	k.Controls = controlled.Header.Get("X-Echo-Applied") != "" && controlled.Size == 1
	if k.Controls {
		const name = "Pathcheck-Full" // a request can set this header only with spec.server.controls: Full
		full, err := c.Do(ctx, &wire.Request{Path: PlainPath + "?echo.set-header=" + name + ":1"})
		k.Full = err == nil && full.Proven && full.Header.Get(name) != ""
	}
}
