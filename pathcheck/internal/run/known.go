package run

import (
	"context"
	"net/http"
	"strings"

	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// Known is what the first requests have found out.
type Known struct {
	Plain    *wire.Response // the response to a plain request
	Base     string         // the path of the Echo as it arrives
	describe bool           // whether responses describe requests
	Controls bool           // whether requests can control responses
	Full     bool           // whether they can control all
}

// PlainPath is the path of a plain request, below the path of the Echo.
const PlainPath = "/pathcheck"

// Nothing is what a group needs that can always be tested.
func Nothing(*Known) string { return "" }

// Descriptions returns why a group cannot be tested that needs responses that describe requests, or "".
func Descriptions(k *Known) string {
	if !k.describe {
		return "the responses of the Echo do not describe requests, because it has a body of its own (spec.response.body)"
	}
	return ""
}

// Controls returns why a group cannot be tested that needs to control responses, or "".
func Controls(k *Known) string {
	if !k.Controls {
		return "requests cannot control the responses of the Echo (spec.server.controls: None)"
	}
	return ""
}

// Meet sends the first request, and nothing more unless its response proves that it comes from the Echo.
func Meet(ctx context.Context, c *wire.Client) (*Known, error) {
	a, err := c.Do(ctx, &wire.Request{Path: PlainPath})
	switch {
	case err != nil:
		return nil, &noResponse{c.Dial, err}
	case !a.Proven:
		return nil, stranger(c, a)
	}
	c.Dial = a.Remote // whatever else DNS says of the name was not proven to be the Echo
	k := &Known{Plain: a, describe: a.Description != nil}
	if k.describe {
		k.Base = strings.TrimSuffix(a.Description.Path, PlainPath)
		for _, each := range c.Headers { // what this program sends is no work of the path
			delete(a.Description.Headers, http.CanonicalHeaderKey(each.Name))
		}
	}
	k.findControls(ctx, c)
	return k, nil
}

// findControls finds out what requests can control.
func (k *Known) findControls(ctx context.Context, c *wire.Client) {
	const controls = PlainPath + "?echo.size=1"
	controlled, err := c.Do(ctx, &wire.Request{Path: controls})
	if err != nil || !controlled.Proven {
		controlled, err = c.Do(ctx, &wire.Request{Path: controls}) // it may have failed by chance
	}
	if err != nil || !controlled.Proven {
		return // a proxy refuses such queries, and the groups say so
	}
	k.Controls = controlled.Header.Get("X-Echo-Applied") != "" && controlled.Size == 1
	if k.Controls {
		const name = "Pathcheck-Full" // which spec.server.controls: Full alone lets a request set
		full, err := c.Do(ctx, &wire.Request{Path: PlainPath + "?echo.set-header=" + name + ":1"})
		k.Full = err == nil && full.Proven && full.Header.Get(name) != ""
	}
}
