package main

import "encoding/json"

// justifications returns the justifications in OpenVEX 0.2.0 for a product that a vulnerability does not affect.
func justifications() []string {
	return []string{"component_not_present", "vulnerable_code_not_present", "vulnerable_code_not_in_execute_path",
		"vulnerable_code_cannot_be_controlled_by_adversary", "inline_mitigations_already_exist"}
}

type identified struct {
	ID   string `json:"@id"`
	Name string `json:"name,omitempty"`
}

type statement struct {
	Vulnerability   identified   `json:"vulnerability"`
	Products        []identified `json:"products"`
	Status          string       `json:"status"`
	Justification   string       `json:"justification"`
	ImpactStatement string       `json:"impact_statement"`
}

type document struct {
	Context    string      `json:"@context"`
	ID         string      `json:"@id"`
	Author     string      `json:"author"`
	Timestamp  string      `json:"timestamp"`
	Version    int         `json:"version"`
	Statements []statement `json:"statements"`
}

// openVEX returns the document that explains why the excepted vulnerabilities do not affect the catalog's image. The exceptions concern
// only other projects' programs in this image.
func openVEX(exceptions []exception, version, created string) ([]byte, error) {
	const image = "pkg:oci/echo-operator-catalog?repository_url=quay.io/echo-operator/echo-operator-catalog&tag="
	statements := []statement{} // not null
	for _, each := range exceptions {
		statements = append(statements, statement{identified{"https://pkg.go.dev/vuln/" + each.ID, each.ID}, []identified{{ID: image + version}},
			"not_affected", each.Justification, each.Reason})
	}
	return json.MarshalIndent(document{"https://openvex.dev/ns/v0.2.0", "https://github.com/echo-operator/echo-operator/openvex/" + version,
		"The Echo Operator authors", created, 1, statements}, "", "  ")
}
