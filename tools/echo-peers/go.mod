// Echo servers that ours is measured against.
module github.com/echo-operator/echo-operator/tools/echo-peers

go 1.26.0

toolchain go1.27.3

tool (
	github.com/hashicorp/http-echo
	github.com/mccutchen/go-httpbin/v2/cmd/go-httpbin
)

require (
	github.com/hashicorp/http-echo v1.0.0 // indirect
	github.com/mccutchen/go-httpbin/v2 v2.25.0 // indirect
)
