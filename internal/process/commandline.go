// Package process holds the code that all programs share: it handles --help and --version, prints errors, and limits memory usage.
package process

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/url"
	"runtime"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/net/http/httpproxy"
)

// WithoutMark removes the byte order mark that some editors write at the start of a file.
func WithoutMark(text string) string { return strings.TrimPrefix(text, "\ufeff") }

// ValidateProxies rejects forward proxy URLs that httpproxy would silently ignore. The error omits them: they may contain passwords.
func ValidateProxies(proxies httpproxy.Config) error {
	for _, given := range []string{proxies.HTTPProxy, proxies.HTTPSProxy} {
		parsed, _ := (&httpproxy.Config{HTTPProxy: given}).ProxyFunc()(&url.URL{Scheme: "http", Host: "any.example"}) // fails only in CGI programs
		if given != "" && parsed == nil {
			return errors.New("HTTP_PROXY, HTTPS_PROXY: the URL of the forward proxy must be http[s]://[USER:PASSWORD@]HOST:PORT, " +
				"with escapes for special characters")
		}
	}
	return nil
}

// Version returns the line that --version prints.
func Version(program, version string) string {
	return fmt.Sprintf("%s %s (%s %s/%s)\n", program, version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// UsageError reports an invalid command line. Other errors, such as a missing file, are printed without the usage.
type UsageError struct {
	// Usage is printed above the error, so that the error remains the last line.
	Usage string
	Err   error
}

// Error implements error.
func (e *UsageError) Error() string { return e.Err.Error() }

// ParseFlags adds --help and --version to a program's flags, and parses the arguments. The usage begins with a line such as "pathcheck
// [flags] URL". If --help or --version is given, ParseFlags prints the help or the version, and returns pflag.ErrHelp.
func ParseFlags(flags *pflag.FlagSet, usage, version string, arguments []string, stdout io.Writer) error {
	flags.Usage = func() {} // ReportError prints the usage
	flags.BoolP("help", "h", false, "print this help")
	printVersion := flags.Bool("version", false, "print the version")
	err := flags.Parse(arguments)
	if err != nil {
		return &UsageError{Usage: usage, Err: err}
	}
	if help, _ := flags.GetBool("help"); help {
		_, err = fmt.Fprintf(stdout, "Usage: %s\n\nFlags:\n%s", usage, flags.FlagUsages())
	} else if *printVersion {
		_, err = io.WriteString(stdout, Version(flags.Name(), version))
	} else {
		return nil
	}
	return cmp.Or(err, pflag.ErrHelp)
}

// ReportError prints an error as the last line, below the usage if the command line is invalid.
func ReportError(stderr io.Writer, program string, err error) {
	if invalid := new(UsageError); errors.As(err, &invalid) {
		_, _ = fmt.Fprintf(stderr, "Usage: %s\n", invalid.Usage)
	}
	_, _ = fmt.Fprintf(stderr, "%s: %v\n", program, err)
}
