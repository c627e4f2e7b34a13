//! What visitors do: a tree of calls for each.

use super::call::{Call, Error};
use super::fault::{Charge, Failure, NETWORKS, charge};
use super::services::{HOSTS, Service, Services};
use crate::random::Random;
use crate::record::{Kind, Severity};

const PRODUCTS: [&str; 6] =
    ["telescope", "star-map", "red-flashlight", "eyepiece", "tripod", "solar-filter"];
const BROWSERS: [&str; 3] = [
    "Mozilla/5.0 (X11; Linux x86_64) Firefox/144.0",
    "Mozilla/5.0 (Macintosh) Version/19.1 Safari/605.1.15",
    "Mozilla/5.0 (Windows NT 10.0) Chrome/142.0",
];
const COUNTRIES: [&str; 5] = ["DE", "US", "FR", "JP", "BR"];

const TIMEOUT_STACK: &str = "    at Provider.charge (/app/lib/provider.js:84:13)\n    \
    at async Payment.charge (/app/lib/payment.js:41:20)\n    \
    at async Server.handle (/app/server.js:17:5)";
const STOCK_STACK: &str = "    at shop.inventory.Stock.reserve(Stock.java:112)\n    \
    at shop.inventory.Service.reserve(Service.java:57)\n    \
    at io.grpc.stub.ServerCalls$UnaryServerCallHandler.invoke(ServerCalls.java:182)";

/// Somebody who looks at the shop.
pub(super) struct Visitor<'a> {
    random: &'a mut Random,
    services: &'a Services,
    nanos: u64,
    browser: &'static str,
    country: &'static str,
    session: String,
}

impl<'a> Visitor<'a> {
    pub(super) fn new(random: &'a mut Random, services: &'a Services, nanos: u64) -> Self {
        let browser = BROWSERS[random.below(BROWSERS.len())];
        let country = COUNTRIES[random.below(COUNTRIES.len())];
        let session = format!("v-{:06x}", random.next() & 0xff_ffff);
        Self { random, services, nanos, browser, country, session }
    }

    /// One request.
    pub(super) fn visit(&mut self) -> Call {
        match self.random.unit() {
            pick if pick < 0.30 => self.home(),
            pick if pick < 0.60 => self.product(),
            pick if pick < 0.78 => self.cart(),
            pick if pick < 0.97 => self.checkout(),
            _ => self.missing(),
        }
    }

    fn home(&mut self) -> Call {
        let at = self.at(Service::Frontend);
        let calls = vec![self.recommended(at), self.cart_of_visitor(at, "GetCart")];
        let mut page = self.page(at, "GET", "/", 200).calls(calls);
        page.is_parallel = true;
        page
    }

    fn product(&mut self) -> Call {
        let at = self.at(Service::Frontend);
        let product = self.product_id();
        let stock = self.inventory(at, "GetStock", &product, None);
        let calls = vec![stock, self.recommended(at)];
        self.page(at, "GET", "/product/{id}", 200).with(&[("shop.product", &product)]).calls(calls)
    }

    fn cart(&mut self) -> Call {
        let at = self.at(Service::Frontend);
        let product = self.product_id();
        let add = self.cart_of_visitor(at, "AddItem");
        let check = self.inventory(at, "GetStock", &product, None);
        self.page(at, "POST", "/cart", 200).with(&[("shop.product", &product)]).calls([check, add])
    }

    fn missing(&mut self) -> Call {
        let at = self.at(Service::Frontend);
        self.page(at, "GET", "/{path}", 404).says(Severity::Warn, "no such page")
    }

    /// Cart, stock of every item, payment, order, messages.
    fn checkout(&mut self) -> Call {
        let (front, at) = (self.at(Service::Frontend), self.at(Service::Checkout));
        let network = *self.random.of(&NETWORKS);
        let mut steps = vec![self.cart_of_visitor(at, "GetCart")];
        let is_sold_out = self.random.chance(0.02);
        let items = 1 + self.random.below(4);
        for nth in 0..items {
            let product = self.product_id();
            let sold_out = (is_sold_out && nth + 1 == items).then(|| Error {
                kind: "OutOfStockException",
                message: format!("{product} is out of stock"),
                stack: Some(STOCK_STACK),
            });
            steps.push(self.inventory(at, "Reserve", &product, sold_out));
        }
        let mut error = is_sold_out.then(|| passed_on("FAILED_PRECONDITION", "item out of stock"));
        if error.is_none() {
            let (payment, failed) = self.payment(at, network);
            steps.push(payment);
            error = failed;
        }
        if error.is_none() {
            let millis = self.random.skewed(6.0);
            steps.push(statement(at, "INSERT", "orders", millis));
            steps.push(self.placed(at));
        }
        let order = format!("order {} of {items} items", self.session);
        let (severity, line) = match &error {
            Some(error) => (Severity::Error, format!("{order} failed: {}", error.message)),
            None => (Severity::Info, format!("{order} placed")),
        };
        let own_millis = self.random.skewed(5.0);
        let server = rpc(at, Kind::Server, "shop.Checkout", "PlaceOrder", own_millis)
            .with(&[("shop.card.network", network), ("shop.country", self.country)])
            .number("shop.items", items as i64)
            .calls(steps)
            .says(severity, line)
            .fails(error.clone());
        let client = rpc(front, Kind::Client, "shop.Checkout", "PlaceOrder", 1.5)
            .calls([server])
            .fails(error.clone().map(without_stack));
        let status = if error.is_some() { 500 } else { 200 };
        self.page(front, "POST", "/checkout", status)
            .calls([client])
            .fails(error.map(without_stack))
    }

    /// Charges a card; and how that failed, for those who asked.
    fn payment(&mut self, from: (Service, usize), network: &'static str) -> (Call, Option<Error>) {
        let at = self.at(Service::Payment);
        let is_new = self.services.has_new_payment(at.1);
        let Charge { millis, failure } = charge(self.random, self.nanos, is_new, network);
        let error = failure.map(|failure| match failure {
            Failure::Timeout => Error {
                kind: "ProviderTimeoutError",
                message: "no answer from the payment provider within 3000 ms".to_owned(),
                stack: Some(TIMEOUT_STACK),
            },
            Failure::Declined => passed_on("CardDeclinedError", "the card was declined"),
        });
        let is_slow = millis > 1_000.0;
        let provider = Call::new(at, "POST", Kind::Client, millis)
            .with(&[
                ("http.request.method", "POST"),
                ("url.full", "https://pay.example.com/v2/charges"),
                ("server.address", "pay.example.com"),
                ("shop.card.network", network),
            ])
            .fails(error.clone().filter(|error| error.stack.is_some()).map(without_stack));
        let provider = match error.is_none() {
            true => provider.number("http.response.status_code", 200),
            false => provider,
        };
        let server = rpc(at, Kind::Server, "shop.Payment", "Charge", 3.0)
            .with(&[("shop.card.network", network), ("shop.country", self.country)])
            .calls([provider, statement(at, "INSERT", "payments", self.random.skewed(4.0))])
            .fails(error.clone());
        let server = match (&error, is_slow) {
            (Some(error), _) => {
                let line = format!("charge failed for {network}: {}", error.message);
                server.says(Severity::Error, line)
            }
            (None, true) => {
                server.says(Severity::Warn, format!("provider took {millis:.0} ms for {network}"))
            }
            (None, false) => server,
        };
        let passed = error.map(without_stack);
        let client = rpc(from, Kind::Client, "shop.Payment", "Charge", 1.2)
            .calls([server])
            .fails(passed.clone());
        (client, passed)
    }

    /// The message that an order was placed, and who hears it.
    fn placed(&mut self, from: (Service, usize)) -> Call {
        let topic = [("messaging.system", "kafka"), ("messaging.destination.name", "orders")];
        let (shipping, email) = (self.at(Service::Shipping), self.at(Service::Email));
        let mut ship = Call::new(shipping, "process orders", Kind::Consumer, 12.0)
            .with(&topic)
            .calls([statement(shipping, "INSERT", "shipments", self.random.skewed(5.0))])
            .says(Severity::Info, format!("label printed for {}", self.session));
        ship.is_detached = true;
        let mut mail = Call::new(email, "process orders", Kind::Consumer, 6.0)
            .with(&topic)
            .calls([Call::new(email, "render template", Kind::Internal, self.random.skewed(9.0))]);
        mail.is_detached = true;
        Call::new(from, "send orders", Kind::Producer, self.random.skewed(2.5))
            .with(&topic)
            .calls([ship, mail])
    }

    fn recommended(&mut self, from: (Service, usize)) -> Call {
        let at = self.at(Service::Recommendation);
        let mut calls = vec![
            Call::new(at, "rank", Kind::Internal, self.random.skewed(14.0))
                .number("shop.candidates", 50),
        ];
        for _ in 0..self.random.below(4) {
            let product = self.product_id();
            calls.push(self.inventory(at, "GetStock", &product, None));
        }
        let millis = self.random.skewed(3.0);
        let server = rpc(at, Kind::Server, "shop.Recommendation", "List", millis).calls(calls);
        rpc(from, Kind::Client, "shop.Recommendation", "List", 1.0).calls([server])
    }

    fn cart_of_visitor(&mut self, from: (Service, usize), method: &'static str) -> Call {
        let at = self.at(Service::Cart);
        let command = if method == "AddItem" { "HSET" } else { "HGETALL" };
        let redis = Call::new(at, command, Kind::Client, self.random.skewed(0.7)).with(&[
            ("db.system.name", "redis"),
            ("db.operation.name", command),
            ("server.address", "cart-cache"),
        ]);
        let millis = self.random.skewed(2.0);
        let server = rpc(at, Kind::Server, "shop.Cart", method, millis).calls([redis]);
        rpc(from, Kind::Client, "shop.Cart", method, 0.8).calls([server])
    }

    fn inventory(
        &mut self,
        from: (Service, usize),
        method: &'static str,
        product: &str,
        error: Option<Error>,
    ) -> Call {
        let at = self.at(Service::Inventory);
        let operation = if method == "Reserve" { "UPDATE" } else { "SELECT" };
        let query = statement(at, operation, "stock", self.random.skewed(3.5));
        let mut server = rpc(at, Kind::Server, "shop.Inventory", method, self.random.skewed(2.0))
            .with(&[("shop.product", product)])
            .calls([query])
            .fails(error.clone());
        if let Some(error) = &error {
            server = server.says(Severity::Error, error.message.clone());
        }
        rpc(from, Kind::Client, "shop.Inventory", method, 0.9)
            .calls([server])
            .fails(error.map(without_stack))
    }

    fn page(
        &mut self,
        at: (Service, usize),
        method: &'static str,
        route: &'static str,
        status: i64,
    ) -> Call {
        let millis = self.random.skewed(6.0);
        Call::new(at, format!("{method} {route}"), Kind::Server, millis)
            .with(&[
                ("http.request.method", method),
                ("http.route", route),
                ("url.scheme", "https"),
                ("server.address", "shop.example.com"),
                ("user_agent.original", self.browser),
                ("geo.country.iso_code", self.country),
                ("shop.session", &self.session),
            ])
            .number("http.response.status_code", status)
    }

    fn product_id(&mut self) -> String {
        (*self.random.of(&PRODUCTS)).to_owned()
    }

    /// One of the copies of a service.
    fn at(&mut self, service: Service) -> (Service, usize) {
        (service, self.random.below(HOSTS.len()))
    }
}

fn rpc(
    at: (Service, usize),
    kind: Kind,
    service: &'static str,
    method: &'static str,
    own_millis: f64,
) -> Call {
    Call::new(at, format!("{service}/{method}"), kind, own_millis).with(&[
        ("rpc.system", "grpc"),
        ("rpc.service", service),
        ("rpc.method", method),
    ])
}

fn statement(
    at: (Service, usize),
    operation: &'static str,
    table: &'static str,
    millis: f64,
) -> Call {
    let query = match operation {
        "SELECT" => format!("SELECT id, count FROM {table} WHERE id = $1"),
        "UPDATE" => format!("UPDATE {table} SET count = count - 1 WHERE id = $1"),
        _ => format!("INSERT INTO {table} VALUES ($1, $2, $3)"),
    };
    Call::new(at, format!("{operation} {table}"), Kind::Client, millis).with(&[
        ("db.system.name", "postgresql"),
        ("db.namespace", "shop"),
        ("db.operation.name", operation),
        ("db.collection.name", table),
        ("db.query.text", &query),
        ("server.address", "shop-db"),
    ])
}

fn passed_on(kind: &'static str, message: &str) -> Error {
    Error { kind, message: message.to_owned(), stack: None }
}

fn without_stack(error: Error) -> Error {
    Error { stack: None, ..error }
}
