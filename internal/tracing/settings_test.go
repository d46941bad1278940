package tracing

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// read reads settings from an environment of the form NAME=value.
func read(variables ...string) (Settings, error) {
	return ReadSettings(func(name string) string {
		for _, variable := range variables {
			if value, ok := strings.CutPrefix(variable, name+"="); ok {
				return value
			}
		}
		return ""
	})
}

const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318"

func TestWhereSpansAreSent(t *testing.T) {
	for environment, want := range map[string]string{
		"":                                 "",
		"OTEL_EXPORTER_OTLP_PROTOCOL=grpc": "",
		endpoint:                           "http://collector:4318/v1/traces",
		"OTEL_EXPORTER_OTLP_ENDPOINT=https://collector/otlp/":                                       "https://collector/otlp/v1/traces",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://c:1/in":                                          "http://c:1/in",
		endpoint + " OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://c:1":                                 "http://c:1",
		endpoint + " OTEL_EXPORTER_OTLP_PROTOCOL=http/json":                                         "http://collector:4318/v1/traces",
		endpoint + " OTEL_EXPORTER_OTLP_PROTOCOL=grpc OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/json": "http://collector:4318/v1/traces",
		endpoint + " OTEL_SDK_DISABLED=True":                                                        "",
		endpoint + " OTEL_SDK_DISABLED=false OTEL_TRACES_EXPORTER=otlp":                             "http://collector:4318/v1/traces",
		endpoint + " OTEL_TRACES_EXPORTER=none":                                                     "",
		"OTEL_EXPORTER_OTLP_ENDPOINT=here OTEL_EXPORTER_OTLP_PROTOCOL=grpc OTEL_SDK_DISABLED=true":  "",
	} {
		got, err := read(strings.Fields(environment)...)
		if err != nil {
			t.Errorf("%s: %v", environment, err)
			continue
		}
		if to := ""; got.endpoint != nil {
			to = got.endpoint.String()
			if to != want {
				t.Errorf("%s: %s, want %s", environment, to, want)
			}
		} else if want != "" {
			t.Errorf("%s: nowhere, want %s", environment, want)
		}
	}
}

func TestHeadersAndTimeout(t *testing.T) {
	got, err := read(endpoint, "OTEL_EXPORTER_OTLP_HEADERS= authorization = Bearer%20a+b%3D, x-tenant=shop,", "OTEL_EXPORTER_OTLP_TIMEOUT=250")
	if err != nil || len(got.headers) != 2 || got.headers["authorization"] != "Bearer a+b=" || got.headers["x-tenant"] != "shop" || got.timeout != 250*time.Millisecond {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err = read(endpoint); err != nil || got.timeout != defaultTimeout || got.authorities != nil {
		t.Errorf("the defaults are %+v, %v", got, err)
	}
}

func TestSettingsThatAreNotValid(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(empty, []byte("canary"), 0o600); err != nil {
		t.Fatal(err)
	}
	for variable, want := range map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=collector:4318":                    `OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4318" is not a URL such as http://`,
		"OTEL_EXPORTER_OTLP_ENDPOINT=grpc://collector:4317":             "is not a URL such as http://",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://:4318":                      "is not a URL such as http://",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://a b":                 "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: ",
		"OTEL_EXPORTER_OTLP_PROTOCOL=grpc":                              `OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" is not supported: set it to http/json, and the endpoint`,
		"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf":              `OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: "http/protobuf" is not supported: set it to http/json`,
		"OTEL_TRACES_EXPORTER=console":                                  `OTEL_TRACES_EXPORTER: "console" is not otlp or none`,
		"OTEL_EXPORTER_OTLP_HEADERS=a=b,canary":                         "OTEL_EXPORTER_OTLP_HEADERS: entry 2 is not name=value",
		"OTEL_EXPORTER_OTLP_HEADERS=a=canary%":                          "OTEL_EXPORTER_OTLP_HEADERS: entry 1 is not name=value",
		"OTEL_EXPORTER_OTLP_TIMEOUT=10s":                                `OTEL_EXPORTER_OTLP_TIMEOUT: "10s" is not a number of milliseconds from 1 to 60000`,
		"OTEL_EXPORTER_OTLP_TIMEOUT=0":                                  "is not a number of milliseconds",
		"OTEL_EXPORTER_OTLP_CERTIFICATE=" + empty:                       "OTEL_EXPORTER_OTLP_CERTIFICATE: " + empty + " contains no certificate in PEM format",
		"OTEL_EXPORTER_OTLP_CERTIFICATE=" + filepath.Dir(empty) + "/no": "OTEL_EXPORTER_OTLP_CERTIFICATE: open ",
	} {
		got, err := read(variable, endpoint)
		if err == nil || !strings.HasPrefix(err.Error(), strings.SplitN(variable, "=", 2)[0]+": ") || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "canary") || got.endpoint != nil {
			t.Errorf("%s: %+v, %v", variable, got, err)
		}
	}
}

// certificateOf writes the certificate of a server to a file, and returns the path of that.
func certificateOf(t *testing.T, server *httptest.Server) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(path, pemOf(server.Certificate()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
