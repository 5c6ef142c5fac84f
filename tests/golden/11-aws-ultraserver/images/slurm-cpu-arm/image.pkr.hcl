# made by supercloud VERSION from the spec ultra; do not edit
# In this folder: packer init . && packer build -var slurm_packages=FILE .
# The image is then "slurm-cpu-arm: {id: ami-…}" in site.images of the spec.

packer {
  required_plugins {
    amazon = {
      source  = "github.com/hashicorp/amazon"
      version = "~> 1"
    }
  }
}

variable "region" {
  type    = string
  default = "us-east-1"
}

variable "instance_type" {
  type        = string
  description = "Machine on which the image is built: of the image's architecture, an accelerator is not needed"
  default     = "m7g.2xlarge"
}

variable "slurm_packages" {
  type        = string
  description = "file packages.tar.gz that build-slurm.sh writes"
}

data "amazon-parameterstore" "base" {
  name   = "/aws/service/canonical/ubuntu/server/24.04/stable/current/arm64/hvm/ebs-gp3/ami-id"
  region = var.region
}

source "amazon-ebs" "image" {
  region        = var.region
  instance_type = var.instance_type
  source_ami    = data.amazon-parameterstore.base.value
  ssh_username  = "ubuntu"
  ami_name      = "ultra-slurm-cpu-arm-${formatdate("YYYYMMDDhhmmss", timestamp())}"
  imds_support  = "v2.0"

  metadata_options {
    http_endpoint = "enabled"
    http_tokens   = "required"
  }

  tags = {
    Name               = "ultra-slurm-cpu-arm"
    "supercloud:image" = "slurm-cpu-arm"
    "supercloud:slurm" = "25.11"
  }
}

build {
  sources = ["source.amazon-ebs.image"]

  provisioner "file" {
    source      = var.slurm_packages
    destination = "/home/ubuntu/packages.tar.gz"
  }

  provisioner "shell" {
    script           = "${path.root}/install.sh"
    execute_command  = "chmod +x {{ .Path }} && sudo env {{ .Vars }} {{ .Path }} && sudo env {{ .Vars }} {{ .Path }} check"
    environment_vars = [
      "SLURM_PACKAGES=/home/ubuntu/packages.tar.gz",
    ]
  }
}
