package testbed

import (
	"context"
	"crypto/tls"
	"net/http"
	"time"

	"github.com/echo-operator/echo-operator/tests/benchmark/operator/requests"
	"github.com/echo-operator/echo-operator/tests/benchmark/process"
)

// Usage is the CPU time that the processes have used, and the requests that the API server has served.
type Usage struct {
	APIServer, Etcd, Client time.Duration
	Requests                requests.Counts
}

// UsageOf returns the usage of the control plane and of a program, which may be nil.
func (p *ControlPlane) UsageOf(g *Program) (Usage, error) {
	u := Usage{}
	var err error
	if u.APIServer, err = process.CPUTime(p.apiServer); err != nil {
		return u, err
	}
	if u.Etcd, err = process.CPUTime(p.etcd); err != nil || g == nil {
		return u, err
	}
	u.Client, err = process.CPUTime(g.PID())
	return u, err
}

// Before returns the usage at the start of a measurement. It reads the CPU time last, so that reading the metrics is not part of the
// measurement.
func (p *ControlPlane) Before(ctx context.Context, g *Program) (Usage, error) {
	metrics, err := p.apiServerMetrics(ctx)
	if err != nil {
		return Usage{}, err
	}
	u, err := p.UsageOf(g)
	u.Requests = requests.Served(metrics)
	return u, err
}

// After returns the usage since the start of a measurement.
func (p *ControlPlane) After(ctx context.Context, g *Program, before Usage) (Usage, error) {
	u, err := p.UsageOf(g)
	if err != nil {
		return u, err
	}
	metrics, err := p.apiServerMetrics(ctx)
	if err != nil {
		return u, err
	}
	return Usage{u.APIServer - before.APIServer, u.Etcd - before.Etcd, u.Client - before.Client,
		requests.Served(metrics).Since(before.Requests)}, nil
}

// apiServerMetrics returns the metrics of the API server.
func (p *ControlPlane) apiServerMetrics(ctx context.Context) (requests.Families, error) {
	return requests.Scrape(ctx, p.http, p.URL+"/metrics", "")
}

// MetricsOf reads an operator's metrics over HTTPS, and authenticates with a token.
func (p *ControlPlane) MetricsOf(ctx context.Context, g *Program) (requests.Families, error) {
	trusting := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true, // see writeServingCertificate
	}}
	return requests.Scrape(ctx, trusting, "https://"+g.metrics+"/metrics", p.token)
}
