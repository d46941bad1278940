package main

import (
	"fmt"
	"regexp"
)

// reasons returns the reasons that a mark can give. The marked commands must match the regular expression of the reason. The use of
// kubectl, kubectl echo, curl, helm, or make is not a valid reason, because the suites can run these programs.
func reasons() map[string]*regexp.Regexp {
	return map[string]*regexp.Regexp{
		"makes a cluster":      regexp.MustCompile(`\bmake (demo|cluster-up)\b|\bkind load\b`),
		"internet":             regexp.MustCompile(`\bdocker run\b|\boci://|@latest\b|https?://(?:shop\.example\.com|github\.com)\b`),
		"registry":             regexp.MustCompile(`\bREGISTRY=`),
		"OpenShift":            regexp.MustCompile(`(?m)^oc \b|\bopenshift\.yaml\b`),
		"Argo CD or Flux":      regexp.MustCompile(`\bargocd\b|\bflux\b`),
		"identity provider":    regexp.MustCompile(`\$TOKEN\b|\boidc\b`),
		"release":              regexp.MustCompile(`\bmake (release|push-release|next-version)\b`),
		"changes the checkout": regexp.MustCompile(`\boperator-sdk create\b`),
		"changes the machine":  regexp.MustCompile(`\bkrew\b|\bgo install\b|(?i)\bkrew_root\b|^#!`),
		"is a suite":           regexp.MustCompile(`\bgo test\b|\bmake (e2e|benchmark)`),
		"other program":        regexp.MustCompile(`\bwebsocat\b|\bnc `),
	}
}

// justified returns an error if the reason in a mark is not valid or does not match the commands.
func justified(reason, commands string) error {
	evidence, known := reasons()[reason]
	if !known {
		return fmt.Errorf("%q is not a valid reason", reason)
	}
	if !evidence.MatchString(commands) {
		return fmt.Errorf("%q is not the reason: nothing in these commands matches %s", reason, evidence)
	}
	return nil
}
