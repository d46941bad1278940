// Picture draws the dashboard as SVG, with what a Prometheus has of the last half hour: for the documentation, and without Grafana.
//
// usage: picture DASHBOARD URL      (the file of the dashboard, and the address of Prometheus)
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strconv"
	"time"
)

// span and step are the time that is drawn, and that between two points.
const (
	span = 30 * time.Minute
	step = 15 * time.Second
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "picture: "+err.Error())
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) != 2 {
		return errors.New("give the file of a dashboard and the address of Prometheus")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	text, err := os.ReadFile(arguments[0])
	if err != nil {
		return err
	}
	var content dashboard
	if err := json.Unmarshal(text, &content); err != nil {
		return fmt.Errorf("%s: %w", arguments[0], err)
	}
	until := time.Now()
	for i := range content.Panels {
		p := &content.Panels[i]
		for _, target := range p.Targets {
			found, err := read(ctx, arguments[1], target.Expression, until)
			if err != nil {
				return fmt.Errorf("%s: %w", p.Title, err)
			}
			p.add(found, target.Legend)
		}
	}
	_, err = fmt.Print(content.draw(until))
	return err
}

// dashboard is what is drawn of a dashboard of Grafana.
type dashboard struct {
	Title  string  `json:"title"`
	Panels []panel `json:"panels"`
}

type panel struct {
	Title   string                                `json:"title"`
	Type    string                                `json:"type"`
	Place   struct{ X, Y, W, H float64 }          `json:"gridPos"`
	Targets []struct{ Expression, Legend string } `json:"-"`
	Fields  struct {
		Defaults struct {
			Unit       string     `json:"unit"`
			Thresholds thresholds `json:"thresholds"`
		} `json:"defaults"`
	} `json:"fieldConfig"`

	lines []line
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *panel) UnmarshalJSON(text []byte) error {
	type plain panel
	var content struct {
		plain
		Targets []struct {
			Expression string `json:"expr"`
			Legend     string `json:"legendFormat"`
		} `json:"targets"`
	}
	if err := json.Unmarshal(text, &content); err != nil {
		return err
	}
	*p = panel(content.plain)
	for _, t := range content.Targets {
		p.Targets = append(p.Targets, struct{ Expression, Legend string }{t.Expression, t.Legend})
	}
	return nil
}

type thresholds struct {
	Steps []struct {
		Color string   `json:"color"`
		Value *float64 `json:"value"`
	} `json:"steps"`
}

// series is a time series of Prometheus. Each value has its Unix time, and is a text.
type series struct {
	Metric map[string]string `json:"metric"`
	Values [][2]any          `json:"values"`
}

// read returns the time series of a query until a time.
func read(ctx context.Context, prometheus, expression string, until time.Time) ([]series, error) {
	parameters := url.Values{"query": {expression}, "start": {unix(until.Add(-span))}, "end": {unix(until)}, "step": {step.String()}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, prometheus+"/api/v1/query_range?"+parameters.Encode(), http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }() // it is read to its end
	var answer struct {
		Error string `json:"error"`
		Data  struct {
			Result []series `json:"result"`
		} `json:"data"`
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return nil, err
	}
	if answer.Error != "" {
		return nil, errors.New(answer.Error)
	}
	return answer.Data.Result, nil
}

func unix(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }
