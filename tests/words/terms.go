package main

// replacedWords returns words that have no other meaning, each with its replacement.
func replacedWords() map[string]string {
	return map[string]string{
		"anew":       "again",
		"as wanted":  "as desired",
		"colour":     "color",
		"colours":    "colors",
		"forgeable":  "spoofable",
		"labelled":   "labeled",
		"mend":       "fix",
		"mended":     "fixed",
		"mends":      "fixes",
		"nobody":     "no one",
		"somebody":   "another client, or who it is",
		"strippable": "removable",
	}
}

// replacedNames returns names that the API, metrics, alerts and facts had before the first release, with the current names.
func replacedNames() map[string]string {
	return map[string]string{
		"controls: Off":                     "controls: None",
		"echo_held_bytes":                   "echo_reserved_bytes",
		"echo_held_bytes_limit":             "echo_reserved_bytes_limit",
		"echo_limited_total":                "echo_rejected_total",
		"echo_operator_failed_passes_total": "echo_operator_reconcile_errors_total",
		"EchoOperatorPassesFail":            "EchoOperatorReconcileErrors",
		"EchoOperatorWithoutLeader":         "EchoOperatorNoLeader",
		"lastTime":                          "lastRunTime",
	}
}

// markers returns words that are valid English but frequent only in translated text.
func markers() []string {
	return []string{"the way", "that of", "those of", "tell", "tells", "told", "by which", "of which", "beside"}
}
