package pathcheck

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/echo-operator/echo-operator/internal/proof"
)

// client sends requests to a target.
type client struct {
	target
	limits *limits
	echo   proof.Echo
	agent  string
	maxTLS uint16 // the latest version of TLS that is offered; 0 for any

	mutex  sync.Mutex
	nonces []string
}

// check returns the header that asks for a proof.
func (c *client) check(nonce string) field {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if !slices.Contains(c.nonces, nonce) {
		c.nonces = append(c.nonces, nonce)
	}
	return field{proof.RequestHeader, c.echo.Ask(nonce)}
}

// judge finds out whether a response is that of the Echo to the request, or to an earlier one.
func (c *client) judge(a *answer, nonce string) {
	values := a.header.Values(proof.ResponseHeader)
	if len(values) != 1 {
		return
	}
	if a.attempt, a.proven = c.echo.Verify(nonce, values[0]); a.proven {
		return
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, earlier := range c.nonces {
		if _, ok := c.echo.Verify(earlier, values[0]); ok {
			a.proven, a.cached = true, true
		}
	}
}

// open sends the header of a request on a new connection.
func (c *client) open(ctx context.Context, r *request) (*stream, error) {
	end, err := c.limits.begin(ctx)
	if err != nil {
		return nil, err
	}
	connection, err := c.connect(ctx, c.limits)
	if err != nil {
		end()
		return nil, err
	}
	deadline := time.Now().Add(cmp.Or(r.timeout, timeout))
	setDeadline, raw := connection.SetDeadline(deadline), connection
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() }) // reading and writing fail then
	config := c.tlsConfig("http/1.1")
	config.MaxVersion = c.maxTLS
	connection, err = c.secure(ctx, connection, config)
	if err := cmp.Or(err, setDeadline); err != nil {
		stop()
		end()
		return nil, err
	}
	r.nonce = cmp.Or(r.nonce, newNonce())
	s := newStream(connection, r.methodOrGet(), r.nonce, sync.OnceFunc(func() { // a stream may be closed twice
		stop()
		end()
	}))
	if err := s.send(r.header(&c.target, c.check(r.nonce), c.agent)); err != nil {
		_ = s.Close() // writing has failed already
		return nil, err
	}
	return s, nil
}

func (s *stream) send(data []byte) error {
	_, err := s.Write(data)
	return err
}

// do sends a request and reads the response.
func (c *client) do(ctx context.Context, r *request) (*answer, error) {
	s, err := c.open(ctx, r)
	if err != nil {
		return nil, err
	}
	var writing sync.WaitGroup
	defer writing.Wait()
	defer func() { _ = s.Close() }() // what was read decides
	writing.Go(func() {
		if r.chunked || len(r.body) > 0 {
			_ = r.writeBody(s) // the server may have responded before the end of the body
		}
	})
	return c.read(s, int64(len(r.body))+maxBody)
}

// read reads the response to the request of a stream, and judges it.
func (c *client) read(s *stream, limit int64) (*answer, error) {
	a, err := s.readAnswer(limit)
	if err == nil {
		c.judge(a, s.nonce)
	}
	return a, err
}

// refusedByCache is the refusal of a way that responds with what the Echo has responded to an earlier request, which tells nothing of this one.
const refusedByCache = "cached"

// over returns why a run is over, if it is: then what came of a request is no fact about the way.
func over(ctx context.Context, err error) error {
	if isLimit(err) {
		return err
	}
	return deadlineIn(ctx)
}

// outcome is what came of a request: the response of the Echo, or how the way refused it instead.
type outcome struct {
	*answer        // nil if there was none
	refusal string // such as "404" or "closed"; empty if the Echo responded
}

// echoed returns what the Echo told of the request, or nil.
func (o outcome) echoed() *echo {
	if o.refusal != "" {
		return nil
	}
	return o.echo
}

// group is a part of a run that examines related facts.
type group struct {
	*client
	known   *known
	direct  string // the URL of the same Echo without the proxies in the path; may be empty
	ca      []byte // PEM of certificates that are trusted in addition to those of browsers
	facts   []Fact
	skipped []NotTested
}

// known is what the first requests have told.
type known struct {
	plain    *answer // the response to a plain request
	base     string  // the path of the Echo as it arrives
	describe bool    // whether responses describe requests
	controls bool    // whether requests can control responses
	full     bool    // whether they can control all
}

// skip says why a fact of the group could not be found out.
func (g *group) skip(name, reason string) {
	g.skipped = append(g.skipped, NotTested{Name: name, Reason: reason})
}

func (g *group) add(facts ...Fact) { g.facts = append(g.facts, facts...) }

// ask sends a request. If something else responds than the Echo, a plain request shows whether the Echo is still there. If it is not, the error
// ends the group.
func (g *group) ask(ctx context.Context, r *request) (outcome, error) {
	a, err := g.do(ctx, r)
	return g.outcome(ctx, a, err)
}

// examine sends a request, and adds the fact that a function makes of what came of it.
func (g *group) examine(ctx context.Context, r *request, decide func(outcome) Fact) error {
	o, err := g.ask(ctx, r)
	if err == nil {
		g.add(decide(o))
	}
	return err
}

func (g *group) outcome(ctx context.Context, a *answer, err error) (outcome, error) {
	if ended := over(ctx, err); ended != nil {
		return outcome{}, ended
	}
	switch {
	case err == nil && a.proven && a.cached:
		return outcome{answer: a, refusal: refusedByCache}, nil
	case err == nil && a.proven:
		return outcome{answer: a}, nil
	case err != nil:
		return outcome{refusal: refusalOf(err)}, g.confirm(ctx)
	}
	return outcome{answer: a, refusal: a.refusal()}, g.confirm(ctx)
}

// confirm returns an error unless the Echo responds to a plain request.
func (g *group) confirm(ctx context.Context) error {
	a, err := g.do(ctx, &request{path: plainPath + "?" + newNonce()}) // which no cache has
	if ended := over(ctx, err); ended != nil {
		return ended
	}
	switch {
	case err != nil:
		return fmt.Errorf("the Echo does not respond any more: %s", refusalOf(err))
	case !a.proven:
		return fmt.Errorf("the Echo does not respond any more: the response %d does not prove that it comes from it", a.status)
	}
	return nil
}

// interrupted returns why a stream that ended with an error tells nothing of the way, if it does not: the run is over, or the Echo has gone.
func (g *group) interrupted(ctx context.Context, err error) error {
	if ended := over(ctx, err); ended != nil || err == nil {
		return ended
	}
	return g.confirm(ctx)
}

// each examines parts of a group, until one cannot go on.
func (g *group) each(ctx context.Context, parts ...func(context.Context, *group) error) error {
	for _, part := range parts {
		if err := part(ctx, g); err != nil {
			return err
		}
	}
	return nil
}
